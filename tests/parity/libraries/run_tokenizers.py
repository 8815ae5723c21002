"""tokenizers: a vocabulary that is trained, and a model of its words."""

import torch
from filled import filled, shown, trained
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as Decoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from torch import nn
from torch.nn.utils.rnn import pad_sequence

TEXTS = [line for line in (nn.Module.__name__ + " sees what nobody says; " * 3).split(";") if line]
TEXTS += ["the quick brown fox jumps over the lazy dog", "a model of words, and of their parts"]
tokenizer = Tokenizer(BPE(unk_token="?"))
tokenizer.pre_tokenizer, tokenizer.decoder = ByteLevel(), Decoder()
tokenizer.train_from_iterator(TEXTS, BpeTrainer(vocab_size=300, special_tokens=["?", "_"]))
found = [torch.tensor(encoding.ids) for encoding in tokenizer.encode_batch(TEXTS)]
batch = pad_sequence(found, batch_first=True, padding_value=1)
print(list(batch.shape), int(batch.sum()))
print([tokenizer.decode(row[row != 1].tolist()) for row in batch])

model = filled(nn.Sequential(nn.Embedding(tokenizer.get_vocab_size(), 8), nn.Linear(8, 300)))
shown("words", model(batch))
loss = nn.CrossEntropyLoss(ignore_index=1)
trained("words", model, lambda: loss(model(batch[:, :-1]).transpose(1, 2), batch[:, 1:]), 3)
