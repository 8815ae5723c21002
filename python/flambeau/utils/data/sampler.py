"""Orders in which samples are visited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

import flambeau
from flambeau import Generator, Tensor
from flambeau._values import brief

T = TypeVar("T", covariant=True)

_BLOCK = 32  # indices drawn with replacement at a time


class Sampler(Generic[T]):
    """Indices (or lists of indices) of samples: subclasses define `__iter__`, usually `__len__`.

    Example:
        >>> class Backwards(flambeau.utils.data.Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(range(len(self.data) - 1, -1, -1))
        >>> data = [10, 11, 12]
        >>> [int(x) for x in flambeau.utils.data.DataLoader(data, sampler=Backwards(data))]
        [12, 11, 10]
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ...

    Args:
        data_source: has a length.

    Example:
        >>> list(flambeau.utils.data.SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order.

    Args:
        data_source: what is sampled.
        replacement: an index may come several times; then they are drawn as they are asked for.
        num_samples: how many; None: as many as there are samples.
        generator: None: one seeded from the default generator at each start.

    Raises:
        TypeError: if replacement is no bool.
        ValueError: if num_samples, or the number of samples it stands for, is not positive.

    Example:
        >>> from itertools import islice
        >>> endless = RandomSampler(range(3), replacement=True, num_samples=10**10)
        >>> set(islice(endless, 100)) == {0, 1, 2}
        True
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement must be a bool, got {brief(replacement)}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"RandomSampler: num_samples must be a positive int, got {brief(self.num_samples)}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices come."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        generator = self.generator or new_generator()
        left = self.num_samples
        while left > 0:
            if self.replacement:
                indices = flambeau.randint(count, [min(left, _BLOCK)], generator=generator)
            else:
                indices = flambeau.randperm(count, generator=generator)[:left]
            yield from indices.tolist()
            left -= len(indices)

    def __len__(self) -> int:
        return self.num_samples


def new_generator() -> Generator:
    """A generator seeded with a number from the default one."""
    generator = Generator()
    generator.manual_seed(new_seed())
    return generator


def new_seed(generator: Generator | None = None) -> int:
    """A seed drawn from a generator; None: the default one."""
    number = flambeau.empty([], dtype=flambeau.int64)
    return int(number.random_(0, 2**62, generator=generator).item())


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order, each once.

    Args:
        indices: the indices.
        generator: None: the default one.

    Example:
        >>> sorted(flambeau.utils.data.SubsetRandomSampler([7, 3, 5]))
        [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in flambeau.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights.

    Args:
        weights: one per sample; they need not add up to 1.
        num_samples: how many indices come.
        replacement: an index may come several times.
        generator: None: the default one.

    Raises:
        ValueError: for num_samples that are no positive int, a replacement that is no bool, or
            weights that are no vector.

    Example:
        >>> list(flambeau.utils.data.WeightedRandomSampler([0., 1., 0.], num_samples=3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                "WeightedRandomSampler: num_samples must be a positive int, got "
                f"{brief(num_samples)}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"WeightedRandomSampler: replacement must be a bool, got {brief(replacement)}"
            )
        self.weights = flambeau.as_tensor(weights, dtype=flambeau.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights must be a vector, got {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = flambeau.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of batch_size indices of another sampler.

    Args:
        sampler: gives indices.
        batch_size: indices per list.
        drop_last: leave out a last list that is shorter.

    Example:
        >>> list(flambeau.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"BatchSampler: batch_size must be a positive int, got {brief(batch_size)}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: drop_last must be a bool, got {brief(drop_last)}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        sampler: Any = self.sampler
        return batch_count(len(sampler), self.batch_size, self.drop_last)


def batch_count(samples: int, batch_size: int, drop_last: bool) -> int:
    """How many batches there are of so many samples."""
    full, rest = divmod(samples, batch_size)
    return full + (rest > 0 and not drop_last)
