"""Datasets, samplers and a collate function of one's own; sequences of different lengths."""

import collections

import numpy as np
import torch
import torch.utils.data as data
from formula import fill
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, Subset, WeightedRandomSampler
from torch.utils.data.dataloader import default_collate
from torch.utils.data.sampler import RandomSampler, SubsetRandomSampler


class Words(Dataset):
    def __init__(self, n, transform=None):
        rng = np.random.RandomState(0)
        self.rows = [rng.randint(1, 10, rng.randint(2, 8)) for _ in range(n)]
        self.transform = transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        row = self.rows[idx]
        if self.transform:
            row = self.transform(row)
        return {"tokens": row, "label": int(row.sum() % 2 == 0), "name": str(idx)}


class ToTensor(object):
    def __call__(self, row):
        return torch.from_numpy(row).long()


def pad(batch):
    batch.sort(key=lambda item: len(item["tokens"]), reverse=True)
    lengths = torch.as_tensor([len(item["tokens"]) for item in batch])
    tokens = pad_sequence([item["tokens"] for item in batch], batch_first=True)
    rest = default_collate([{k: item[k] for k in ("label", "name")} for item in batch])
    return tokens, lengths, rest


class Stream(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, 10, step))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 16, bidirectional=True, batch_first=True)
        self.out = nn.Linear(32, 2)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embed(tokens), lengths, batch_first=True)
        output, (h, _) = self.lstm(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return self.out(output.max(1)[0]) + 0 * h.sum()


dataset = Words(80, ToTensor())
train, held_out = data.random_split(dataset, [60, 20], generator=torch.Generator().manual_seed(0))
assert isinstance(train, Subset) and len(held_out) == 20
train = Subset(dataset, range(60))
model = fill(Classifier())
optimizer = torch.optim.Adam(model.parameters(), 0.02)
for epoch in range(5):
    total = 0.0
    for tokens, lengths, rest in DataLoader(train, batch_size=20, collate_fn=pad):
        loss = nn.functional.cross_entropy(model(tokens, lengths), rest["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch %d loss %.4f" % (epoch, total / 3))

weights = [1.0 if i % 2 else 0.0 for i in range(80)]
drawn = list(WeightedRandomSampler(weights, 30, replacement=True))
assert len(drawn) == 30 and all(i % 2 for i in drawn)
assert sorted(SubsetRandomSampler([3, 1, 2])) == [1, 2, 3]
lazy = iter(RandomSampler(range(5), replacement=True, num_samples=10**10))
assert all(0 <= next(lazy) < 5 for _ in range(100))
seen = [x.item() for batch in DataLoader(Stream(), batch_size=3, num_workers=2) for x in batch]
assert sorted(seen) == list(range(10))
assert isinstance(default_collate([dict(a=1), dict(a=2)]), collections.abc.Mapping)
