"""Datasets and samplers: what they give, when they draw, what they refuse."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

import flambeau
from flambeau.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    StackDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)
from flambeau.utils.data.distributed import DistributedSampler as SameSampler


class Letters(Dataset[str]):
    """Remembers how it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __len__(self) -> int:
        return 26

    def __getitem__(self, index: int) -> str:
        return chr(ord("a") + index)

    def __getitems__(self, indices: list[int]) -> list[str]:
        self.asked.append(indices)
        return [self[i] for i in indices]


class Counting(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter((0, 1, 2))

    def __len__(self) -> int:
        return 3


def test_draws_with_replacement_come_when_they_are_asked_for() -> None:
    """10 ** 10 indices at once would take 80 GB and minutes."""
    start = time.perf_counter()
    sampler = RandomSampler(range(4), replacement=True, num_samples=10**10)
    drawn = Counter(islice(sampler, 4000))
    assert time.perf_counter() - start < 1
    assert len(sampler) == 10**10
    assert sorted(drawn) == [0, 1, 2, 3]
    assert all(abs(count - 1000) < 150 for count in drawn.values())


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("count", [1, 5, 31, 32, 33, 100])
def test_as_many_as_asked_for(replacement: bool, count: int) -> None:
    sampler = RandomSampler(range(7), replacement, count)
    indices = list(sampler)
    assert len(indices) == len(sampler) == count
    assert set(indices) <= set(range(7))
    if not replacement:
        for start in range(0, count - 6, 7):
            assert sorted(indices[start : start + 7]) == list(range(7))


def test_a_generator_fixes_the_order() -> None:
    def order(seed: int) -> list[int]:
        return list(RandomSampler(range(50), generator=flambeau.Generator().manual_seed(seed)))

    assert order(1) == order(1)
    assert order(1) != order(2)
    state = flambeau.get_rng_state()
    order(1)
    assert flambeau.equal(flambeau.get_rng_state(), state)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomSampler([]), ValueError, "num_samples must be a positive int, got 0"),
        (lambda: RandomSampler([1], num_samples=2.5), ValueError, "got 2.5"),
        (lambda: RandomSampler([1], replacement=1), TypeError, "replacement must be a bool"),
        (lambda: WeightedRandomSampler([1.0], 1, 0), ValueError, "replacement must be a bool"),
        (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, "must be a vector"),
        (lambda: DistributedSampler([1], 2), ValueError, "give rank"),
        (lambda: DistributedSampler([1], rank=0), ValueError, "give num_replicas"),
        (lambda: DistributedSampler([1], 2, 2), ValueError, r"rank must be within \[0, 1\], got 2"),
        (lambda: DistributedSampler([1], 2, -1), ValueError, "got -1"),
        (lambda: random_split(range(4), [5, -1]), ValueError, "negative"),
        (lambda: random_split(range(4), [2.5, 1.5]), TypeError, "float"),
        (lambda: random_split(range(4), [1.5, -0.5]), ValueError, r"fraction 0 must be within"),
        (lambda: StackDataset(), ValueError, "by position or by name"),
        (lambda: StackDataset([1], b=[1]), ValueError, "by position or by name"),
        (lambda: StackDataset([1], [1, 2]), ValueError, "lengths must be equal"),
        (lambda: list(ChainDataset([[1]])), TypeError, "expected IterableDatasets, got list"),
        (lambda: len(ChainDataset([[1]])), TypeError, "expected IterableDatasets, got list"),
        (lambda: ConcatDataset([[1]])[-2], ValueError, "index -2 is out of range"),
        (lambda: ConcatDataset([[1]])[1], IndexError, "index 1 is out of range"),
        (lambda: ConcatDataset([Counting()]), TypeError, "use ChainDataset"),
    ],
)
def test_mistakes(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("count", "processes"), [(12, 3), (13, 3), (2, 5), (1, 1)])
def test_processes_share_all_samples(shuffle: bool, count: int, processes: int) -> None:
    def shares(epoch: int, drop_last: bool) -> list[list[int]]:
        samplers = [
            DistributedSampler(range(count), processes, rank, shuffle, 3, drop_last)
            for rank in range(processes)
        ]
        for sampler in samplers:
            sampler.set_epoch(epoch)
        assert all(len(list(sampler)) == len(sampler) for sampler in samplers)
        return [list(sampler) for sampler in samplers]

    padded = Counter(i for share in shares(0, False) for i in share)
    assert set(padded) == set(range(count))
    assert len({len(share) for share in shares(0, False)}) == 1
    assert max(padded.values()) - min(padded.values()) <= 1
    cut = [i for share in shares(0, True) for i in share]
    assert len(cut) == len(set(cut)) == count - count % processes
    assert shares(1, False) == shares(1, False)
    if count > 10:
        assert (shares(0, False) != shares(1, False)) == shuffle
    assert SameSampler is DistributedSampler


def test_a_stack_fetches_many_at_once() -> None:
    letters = Letters()
    stack = StackDataset(letters, range(26))
    batches = list(DataLoader(stack, 13))
    assert letters.asked == [list(range(13)), list(range(13, 26))]
    assert batches[1][0][0] == "n"
    assert batches[1][1].tolist() == list(range(13, 26))
    named = StackDataset(letter=letters, number=range(26))
    assert named.__getitems__([25, 1]) == [
        {"letter": "z", "number": 25},
        {"letter": "b", "number": 1},
    ]

    class Short(Letters):
        def __getitems__(self, indices: list[int]) -> list[str]:
            return []

    with pytest.raises(ValueError, match="returned 0 samples for 2 indices"):
        StackDataset(Short()).__getitems__([1, 2])


def test_a_subset_that_loaders_would_pass_by() -> None:
    class Half(Subset[Any]):
        def __getitem__(self, index: Any) -> Any:
            return None

    with pytest.raises(NotImplementedError, match="Half redefines __getitem__"):
        Half(range(4), [1])


def test_chains_and_sums() -> None:
    assert list(Counting() + Counting()) == [0, 1, 2, 0, 1, 2]
    assert len(Counting() + Counting()) == 6
    both = TensorDataset(flambeau.arange(3)) + TensorDataset(flambeau.arange(2))
    assert [both[i][0].item() for i in range(-5, 5)] == [0, 1, 2, 0, 1] * 2


def test_fractions() -> None:
    def sizes(fractions: list[float], total: int) -> list[int]:
        return [len(part) for part in random_split(range(total), fractions)]

    assert sizes([0.75, 0.25], 10) == [8, 2]
    assert sizes([1 / 3] * 3, 11) == [4, 4, 3]
    assert sizes([0.1] * 10, 30) == [3] * 10
    assert sizes([1], 1) == [1]
    with pytest.warns(UserWarning, match="part 1 is empty"):
        assert sizes([0.9, 0.1], 1) == [1, 0]


def test_batches_of_any_iterable() -> None:
    assert list(BatchSampler("abcde", 2, False)) == [["a", "b"], ["c", "d"], ["e"]]  # type: ignore
    assert list(BatchSampler([], 2, False)) == []
    assert list(BatchSampler(range(4), 2, True)) == [[0, 1], [2, 3]]
    endless = RandomSampler([1], replacement=True, num_samples=10**10)
    assert next(iter(BatchSampler(endless, 3, True))) == [0, 0, 0]
