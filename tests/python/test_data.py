"""Datasets, samplers, collation and loaders."""

from __future__ import annotations

import os
from collections import Counter, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)
from flambeau.utils.data._utils.collate import collate, default_collate_fn_map


class Squares(Dataset[int]):
    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index * index


class Numbers(IterableDataset[int]):
    """0 ... count - 1, shared among workers."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(start, self.count, step))


class Failing(Squares):
    def __getitem__(self, index: int) -> int:
        if index == 3:
            raise ValueError("sample 3 is broken")
        return index


class Dying(Squares):
    def __getitem__(self, index: int) -> int:
        os._exit(7)


def test_datasets() -> None:
    tensors = TensorDataset(flambeau.arange(4), flambeau.ones(4, 2))
    assert len(tensors) == 4
    assert tensors[2][0].item() == 2
    joined = ConcatDataset([Squares(3), Squares(2)])
    assert [joined[i] for i in range(len(joined))] == [0, 1, 4, 0, 1]
    assert joined[-1] == 1
    with pytest.raises(IndexError):
        joined[5]
    assert Subset(Squares(9), [3, 5])[1] == 25
    assert list(ChainDataset([Numbers(2), Numbers(1)])) == [0, 1, 0]
    assert StackDataset(a=Squares(3), b=Squares(3))[2] == {"a": 4, "b": 4}
    with pytest.raises(ValueError, match="equal"):
        TensorDataset(flambeau.ones(2), flambeau.ones(3))


@pytest.mark.parametrize("lengths", [[7, 3], [0.7, 0.3], [0.33, 0.33, 0.34]])
def test_random_split_is_a_partition(lengths: list[float]) -> None:
    parts = random_split(Squares(10), lengths)
    assert sorted(i for part in parts for i in part.indices) == list(range(10))
    again = [random_split(Squares(10), lengths, flambeau.Generator().manual_seed(1)) for _ in "ab"]
    assert again[0][0].indices == again[1][0].indices
    with pytest.raises(ValueError, match="add up"):
        random_split(Squares(10), [7, 4])


def test_samplers() -> None:
    assert list(SequentialSampler(Squares(3))) == [0, 1, 2]
    assert sorted(RandomSampler(Squares(50))) == list(range(50))
    assert list(RandomSampler(Squares(50))) != list(range(50))
    assert len(list(RandomSampler(Squares(5), replacement=True, num_samples=12))) == 12
    assert len(list(RandomSampler(Squares(5), num_samples=12))) == 12
    assert sorted(SubsetRandomSampler([4, 8])) == [4, 8]
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    drawn = Counter(WeightedRandomSampler([1.0, 0.0, 3.0], 4000))
    assert drawn[1] == 0
    assert drawn[2] / drawn[0] == pytest.approx(3, rel=0.2)


Pair = namedtuple("Pair", "x y")


def test_collate() -> None:
    joined = default_collate(
        [
            {"t": flambeau.ones(2), "n": 1, "f": 0.5, "s": "a", "p": Pair(1, [2])},
            {"t": flambeau.zeros(2), "n": 2, "f": 1.5, "s": "b", "p": Pair(3, [4])},
        ]
    )
    assert joined["t"].shape == (2, 2)
    assert joined["n"].dtype == flambeau.int64
    assert joined["f"].dtype == flambeau.float64
    assert joined["s"] == ["a", "b"]
    assert joined["p"].x.tolist() == [1, 3]
    assert joined["p"].y[0].tolist() == [2, 4]
    arrays = default_collate([np.float32([1, 2]), np.float32([3, 4])])
    assert arrays.dtype == flambeau.float32
    pairs = default_collate([(1.0, "a"), (2.0, "b")])
    assert pairs[0].tolist() == [1, 2] and pairs[1] == ("a", "b")
    assert default_collate([{"name": "a"}, {"name": "b"}]) == {"name": ["a", "b"]}
    assert default_collate([np.float64(1), np.float64(2)]).tolist() == [1, 2]
    plain = DataLoader([(np.zeros(2), 1)], batch_size=None)
    assert [type(value) for value in next(iter(plain))] == [flambeau.Tensor, int]
    assert type(next(iter(plain))) is list
    with pytest.raises(TypeError, match="got object; join them in a collate_fn of your own"):
        default_collate([object()])
    counted = {frozenset: lambda batch, *, collate_fn_map: len(batch)}
    nested = [{"o": (frozenset(), 1.0)}, {"o": (frozenset(), 2.0)}]
    joined = collate(nested, collate_fn_map={**default_collate_fn_map, **counted})
    assert joined["o"][0] == 2 and joined["o"][1].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="lengths"):
        default_collate([[1], [1, 2]])


@pytest.mark.parametrize("workers", [0, 2])
class TestLoader:
    def test_batches_in_order(self, workers: int) -> None:
        batches = [b.tolist() for b in DataLoader(Squares(5), 2, num_workers=workers)]
        assert batches == [[0, 1], [4, 9], [16]]
        loader = DataLoader(Squares(5), 2, drop_last=True, num_workers=workers)
        assert len(loader) == len(list(loader)) == 2

    def test_without_batches(self, workers: int) -> None:
        loader = DataLoader(Squares(3), batch_size=None, num_workers=workers)
        assert list(loader) == [0, 1, 4]

    def test_shuffle_follows_the_seed(self, workers: int) -> None:
        def order(count: int) -> list[int]:
            flambeau.manual_seed(5)
            loader = DataLoader(Squares(20), 4, shuffle=True, num_workers=count)
            return [i for batch in loader for i in batch.tolist()]

        assert order(workers) == order(0)
        assert sorted(order(workers)) == [i * i for i in range(20)]
        assert order(workers) != sorted(order(workers))

    def test_iterable(self, workers: int) -> None:
        batches = [b.tolist() for b in DataLoader(Numbers(7), 2, num_workers=workers)]
        assert sorted(i for batch in batches for i in batch) == list(range(7))

    def test_exception_of_a_sample(self, workers: int) -> None:
        with pytest.raises(ValueError, match="sample 3 is broken"):
            list(DataLoader(Failing(5), 2, num_workers=workers))

    def test_tensors_arrive(self, workers: int) -> None:
        data = TensorDataset(flambeau.arange(6).float().reshape(3, 2), flambeau.arange(3))
        (x, y) = next(iter(DataLoader(data, 3, num_workers=workers)))
        assert x.tolist() == [[0, 1], [2, 3], [4, 5]]
        assert y.tolist() == [0, 1, 2]


def test_batch_sampler() -> None:
    loader = DataLoader(Squares(4), batch_sampler=[[3, 0], [2]])
    assert [b.tolist() for b in loader] == [[9, 0], [4]]
    assert len(loader) == 2


def test_persistent_workers_serve_every_pass() -> None:
    loader = DataLoader(Squares(4), 2, num_workers=1, persistent_workers=True)
    first = [b.tolist() for b in loader]
    processes = loader._workers.processes  # type: ignore[union-attr]
    assert [b.tolist() for b in loader] == first
    assert loader._workers.processes == processes  # type: ignore[union-attr]
    assert processes[0].is_alive()


def test_leaving_early_ends_the_workers() -> None:
    loader = DataLoader(Squares(100), 1, num_workers=2)
    batches = iter(loader)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    import multiprocessing

    assert not multiprocessing.active_children()


def test_a_dead_worker_is_noticed() -> None:
    with pytest.raises(RuntimeError, match="exit code 7"):
        list(DataLoader(Dying(4), 2, num_workers=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers"),
        ({"shuffle": True, "sampler": [0]}, "not both"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "excludes"),
        ({"batch_size": None, "drop_last": True}, "drop_last"),
        ({"prefetch_factor": 2}, "prefetch_factor"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_options_that_exclude_each_other(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader(Squares(3), **options)
    with pytest.raises(ValueError, match="IterableDataset"):
        DataLoader(Numbers(3), shuffle=True)
