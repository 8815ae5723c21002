"""Samples of every kind: joined by functions of their own, sorted by length, streamed, weighted."""

import collections
import itertools

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Sampler,
    StackDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)
from torch.utils.data._utils.collate import collate, default_collate_fn_map

Point = collections.namedtuple("Point", "x y")


class Sentence:
    def __init__(self, words):
        self.words = words


def collate_sentences(batch, *, collate_fn_map=None):
    words = [torch.as_tensor(sentence.words) for sentence in batch]
    return pad_sequence(words, batch_first=True, padding_value=-1), [len(w) for w in words]


class Samples(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return {
            "array": np.full((2,), i, np.float32),
            "point": Point(i, float(i)),
            "name": f"n{i}",
            "pair": (torch.tensor(i), [i, i + 1]),
            "even": i % 2 == 0,
            "text": Sentence([i] * (i + 1)),
        }


class Buckets(Sampler):
    def __init__(self, lengths, size):
        self.lengths, self.size = lengths, size

    def __iter__(self):
        order = sorted(range(len(self.lengths)), key=self.lengths.__getitem__)
        yield from (order[i : i + self.size] for i in range(0, len(order), self.size))

    def __len__(self):
        return -(-len(self.lengths) // self.size)


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        part = (0, 1) if info is None else (info.id, info.num_workers)
        return itertools.islice(range(self.count), part[0], None, part[1])


def collate_all(batch):
    return collate(batch, collate_fn_map={Sentence: collate_sentences, **default_collate_fn_map})


for batch in DataLoader(Samples(), batch_size=3, collate_fn=collate_all):
    print({key: value for key, value in batch.items() if key != "name"}, batch["name"])
lengths = [5, 1, 4, 2, 3]
sequences = [torch.arange(n) for n in lengths]
pad = lambda batch: pad_sequence(batch, padding_value=-1)  # noqa: E731
for padded in DataLoader(sequences, batch_sampler=Buckets(lengths, 2), collate_fn=pad):
    print(padded.T.tolist())
print([b.tolist() for b in DataLoader(Stream(7), batch_size=3)])
print(sorted(i for b in DataLoader(Stream(7), batch_size=2, num_workers=2) for i in b.tolist()))
parts = random_split(range(10), [0.5, 0.3, 0.2], generator=torch.Generator().manual_seed(0))
print([len(part) for part in parts], sorted(itertools.chain(*parts)))
print(1 in list(WeightedRandomSampler([0.1, 0.0, 0.9], 40)), StackDataset(a="xyz", b=range(3))[1])
try:
    default_collate([Sentence([1]), Sentence([2])])
except TypeError as error:
    print("Sentence" in str(error))
