"""Collections of samples."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import flambeau
from flambeau import Generator, Tensor

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Samples by index: subclasses define `__getitem__`, usually `__len__`, and may define
    `__getitems__` (of a list of indices)."""

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Samples in the order of an iterator: subclasses define `__iter__`."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample i is the tuple of the i-th elements of tensors with equal first sizes."""

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if len({t.shape[0] for t in tensors}) > 1:
            sizes = [t.shape[0] for t in tensors]
            raise ValueError(f"TensorDataset: first sizes must be equal, got {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Sample i is the tuple (or, of named datasets, the dict) of the i-th samples of datasets."""

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: give datasets by position or by name")
        self.datasets: Any = args or kwargs
        members = list(args or kwargs.values())
        lengths = {len(d) for d in members}  # type: ignore[arg-type]
        if len(lengths) > 1:
            raise ValueError(f"StackDataset: lengths must be equal, got {sorted(lengths)}")
        self._length = lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """The samples of several datasets, one dataset after the other."""

    def __init__(self, datasets: Iterable[Dataset[T]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: expected at least one dataset")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise TypeError(
                    "ConcatDataset: an IterableDataset has no indices; use ChainDataset"
                )
        lengths = (len(d) for d in self.datasets)  # type: ignore[arg-type]
        self.cumulative_sizes = list(itertools.accumulate(lengths))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T:
        if not -len(self) <= index < len(self):
            raise IndexError(
                f"ConcatDataset: index {index} is out of range for {len(self)} samples"
            )
        index %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class ChainDataset(IterableDataset[Any]):
    """The samples of several iterable datasets, one dataset after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset[T]):
    """Some samples of a dataset, by their indices."""

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> Any:
        chosen = [self.indices[i] for i in indices]
        fetch = getattr(self.dataset, "__getitems__", None)
        return fetch(chosen) if fetch is not None else [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Splits a dataset at random.

    Args:
        dataset: has a length.
        lengths: of the parts; or fractions that add up to 1, then what rounding leaves goes to the
            first parts, one each.
        generator: of the permutation; None: the default one.

    Raises:
        ValueError: if lengths do not add up.
    """
    total = len(dataset)  # type: ignore[arg-type]
    counts: list[int]
    if (
        math.isclose(sum(lengths), 1)
        and sum(lengths) <= 1 + 1e-9
        and not _are_counts(lengths, total)
    ):
        for fraction in lengths:
            if not 0 <= fraction <= 1:
                raise ValueError(f"random_split: a fraction must be within [0, 1], got {fraction}")
        counts = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
    else:
        counts = [int(length) for length in lengths]
    if sum(counts) != total:
        raise ValueError(f"random_split: {list(lengths)} do not add up to the {total} samples")
    order = flambeau.randperm(total, generator=generator).tolist()
    bounds = [0, *itertools.accumulate(counts)]
    return [Subset(dataset, order[a:b]) for a, b in itertools.pairwise(bounds)]


def _are_counts(lengths: Sequence[float], total: int) -> bool:
    return total == 1 and all(isinstance(length, int) for length in lengths)
