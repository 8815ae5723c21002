"""Collections of samples."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import flambeau
from flambeau import Generator, Tensor

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Samples by index: subclasses define `__getitem__`, usually `__len__`, and may define
    `__getitems__` (of a list of indices).

    Example:
        >>> class Squares(flambeau.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 5
        ...     def __getitem__(self, index):
        ...         return index ** 2
        >>> list(flambeau.utils.data.DataLoader(Squares(), batch_size=3))
        [tensor([0, 1, 4]), tensor([ 9, 16])]
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Samples in the order of an iterator: subclasses define `__iter__`.

    Example:
        >>> class Countdown(flambeau.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3, 0, -1))
        >>> list(flambeau.utils.data.DataLoader(Countdown(), batch_size=2))
        [tensor([3, 2]), tensor([1])]
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample i is the tuple of the i-th elements of tensors with equal first sizes.

    Args:
        tensors: of shapes (samples, ...).

    Example:
        >>> x, y = flambeau.tensor([1., 2.]), flambeau.tensor([0, 1])
        >>> data = flambeau.utils.data.TensorDataset(x, y)
        >>> data[1]
        (tensor(2.), tensor(1))
        >>> len(data)
        2
    """

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
    """Sample i is the tuple (or, of named datasets, the dict) of the i-th samples of datasets.

    Args:
        args, kwargs: datasets of one length, all with names or none.

    Example:
        >>> data = flambeau.utils.data.StackDataset(image=[10, 11], label=["a", "b"])
        >>> data[1]
        {'image': 11, 'label': 'b'}
    """

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

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """The samples of some indices; members that can fetch many at once do.

        Raises:
            ValueError: if a member returns another number of samples than it was asked for.
        """
        if isinstance(self.datasets, dict):
            columns = [_fetch(dataset, indices) for dataset in self.datasets.values()]
            return [
                dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)
            ]
        return list(zip(*(_fetch(dataset, indices) for dataset in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


def samples_of(dataset: Any, indices: list[Any]) -> Any:
    """The samples of some indices, at once where the dataset can."""
    many = getattr(dataset, "__getitems__", None)
    return many(indices) if callable(many) else [dataset[index] for index in indices]


def _fetch(dataset: Any, indices: list[Any]) -> list[Any]:
    samples: list[Any] = samples_of(dataset, indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"StackDataset: {type(dataset).__name__}.__getitems__ returned {len(samples)} samples "
            f"for {len(indices)} indices"
        )
    return samples


class ConcatDataset(Dataset[T]):
    """The samples of several datasets, one dataset after the other.

    Args:
        datasets: have lengths.

    Example:
        >>> data = flambeau.utils.data.ConcatDataset([[1, 2], [3]])
        >>> len(data), data[2]
        (3, 3)
    """

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
            # Iterating over indices ends at an IndexError; below zero nothing is to be ended.
            kind = IndexError if index >= 0 else ValueError
            raise kind(f"ConcatDataset: index {index} is out of range for {len(self)} samples")
        index %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class ChainDataset(IterableDataset[Any]):
    """The samples of several iterable datasets, one dataset after the other.

    Args:
        datasets: read when the chain is iterated.

    Raises:
        TypeError: while iterating, for a member that is no IterableDataset.

    Example:
        >>> from flambeau.utils.data import ChainDataset, IterableDataset
        >>> class Letters(IterableDataset):
        ...     def __iter__(self):
        ...         return iter("ab")
        >>> list(ChainDataset([Letters(), Letters()]))
        ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _members(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(
                    "ChainDataset: expected IterableDatasets, got "
                    f"{type(dataset).__name__}; ConcatDataset joins datasets with indices"
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self._members())

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._members())


class Subset(Dataset[T]):
    """Some samples of a dataset, by their indices.

    Args:
        dataset: the samples.
        indices: which of them, in which order.

    Raises:
        NotImplementedError: for a subclass that redefines `__getitem__` alone: loaders fetch
            batches with `__getitems__`.

    Example:
        >>> data = flambeau.utils.data.Subset("abcdef", [4, 0])
        >>> [data[i] for i in range(len(data))]
        ['e', 'a']
    """

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        own = type(self)
        same_one = own.__getitem__ is Subset.__getitem__
        if not same_one and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} redefines __getitem__, which loaders do not call; redefine "
                "__getitems__ too"
            )
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> Any:
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Splits a dataset at random.

    Args:
        dataset: has a length.
        lengths: of the parts; or fractions that add up to 1, then what rounding leaves goes to the
            first parts, one each, and a warning tells of empty ones.
        generator: of the permutation; None: the default one.

    Raises:
        ValueError: if lengths do not add up, or are negative.
        TypeError: for lengths that are neither integers nor fractions.

    Example:
        >>> from flambeau.utils.data import TensorDataset, random_split
        >>> parts = random_split(TensorDataset(flambeau.arange(10)), [0.75, 0.25])
        >>> [len(part) for part in parts]
        [8, 2]
    """
    total = len(dataset)  # type: ignore[arg-type]
    share = sum(lengths)
    # Fractions such as 0.7, 0.2, 0.1 may add up to a little more than 1.
    if math.isclose(share, 1) and share <= 1 + 1e-9:
        counts = _shares(total, lengths)
    else:
        counts = [operator.index(length) for length in lengths]  # type: ignore[arg-type]
        if min(counts, default=0) < 0:
            raise ValueError(f"random_split: lengths must not be negative, got {list(lengths)}")
    if sum(counts) != total:
        raise ValueError(f"random_split: {list(lengths)} do not add up to the {total} samples")
    order = flambeau.randperm(total, generator=generator).tolist()
    bounds = [0, *itertools.accumulate(counts)]
    return [Subset(dataset, order[a:b]) for a, b in itertools.pairwise(bounds)]


def _shares(total: int, fractions: Sequence[float]) -> list[int]:
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"random_split: fraction {i} must be within [0, 1], got {fraction}")
    counts = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    for i, count in enumerate(counts):
        if count == 0:
            warnings.warn(f"random_split: part {i} is empty", stacklevel=3)
    return counts
