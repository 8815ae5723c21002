"""Language models, recurrent or with attention, on a corpus of words."""

import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill

sentences = ["the cat sat on the mat", "the dog sat on the log", "a cat saw a dog"] * 20


class Dictionary(object):
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, tie_weights=False):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(0.0)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers)
        else:
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity="tanh")
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.decoder.out_features)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        state = weight.new_zeros(self.nlayers, bsz, self.nhid)
        return (state, state.clone()) if self.rnn_type == "LSTM" else state


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super(PositionalEncoding, self).__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return x + self.pe[: x.size(0), :]


class TransformerModel(nn.Transformer):
    def __init__(self, ntoken, ninp, nhead, nhid, nlayers):
        super(TransformerModel, self).__init__(
            d_model=ninp, nhead=nhead, dim_feedforward=nhid, num_encoder_layers=nlayers, dropout=0.0
        )
        self.pos_encoder = PositionalEncoding(ninp)
        self.input_emb = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.decoder = nn.Linear(ninp, ntoken)

    def forward(self, src):
        mask = torch.log(torch.tril(torch.ones(len(src), len(src))))
        src = self.pos_encoder(self.input_emb(src) * math.sqrt(self.ninp))
        return F.log_softmax(self.decoder(self.encoder(src, mask=mask)), dim=-1)


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt=10):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


words = Dictionary()
corpus = batchify(torch.tensor([words.add_word(w) for s in sentences for w in s.split()]), 4)
n, criterion = len(words), nn.NLLLoss()
for kind in ["LSTM", "GRU", "RNN_TANH", "Transformer"]:
    if kind == "Transformer":
        model = fill(TransformerModel(n, 16, 2, 32, 2))
    else:
        model = fill(RNNModel(kind, n, 16, 16, 2, tie_weights=kind == "LSTM"))
    hidden, lr, losses = None if kind == "Transformer" else model.init_hidden(4), 2.0, []
    model.train()
    start = time.time()
    for i in list(range(0, corpus.size(0) - 11, 10)) * 2:
        data, targets = get_batch(corpus, i)
        model.zero_grad()
        if kind == "Transformer":
            output = model(data).view(-1, n)
        else:
            hidden = repackage_hidden(hidden)
            output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            if p.grad is not None:
                p.data.add_(p.grad, alpha=-lr)
        losses.append(loss.item())
    print(
        "| {} | first {:5.3f} | last {:5.3f} | ppl {:8.2f}".format(
            kind, losses[0], losses[-1], math.exp(losses[-1])
        )
    )
    assert losses[-1] < losses[0]
