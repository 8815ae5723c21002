"""Data pipes that are iterated over, and their steps."""

from __future__ import annotations

import copy
import itertools
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import flambeau
from flambeau._values import brief
from flambeau.utils.data.collate import default_collate
from flambeau.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe
from flambeau.utils.data.worker import get_worker_info

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "Filter",
    "Forker",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "ShardingFilter",
    "Shuffler",
    "UnBatcher",
    "Zipper",
]


def _positive(step: str, name: str, given: Any) -> int:
    if not isinstance(given, int) or given < 1:
        raise ValueError(f"{step}(): {name} must be a positive number, got {brief(given)}")
    return given


def _function(step: str, name: str, given: Any) -> Callable[..., Any]:
    if not callable(given):
        raise TypeError(f"{step}(): {name} must be a function, got {brief(given)}")
    found: Callable[..., Any] = given
    return found


class IterableWrapper(IterDataPipe):
    """A pipe of what can be iterated over.

    Args:
        iterable: that.
        deepcopy: iterate over a copy, made for each iteration, where it can be copied.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(3)))
        [0, 1, 2]
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy and isinstance(source, list | dict | set | tuple):
            source = copy.deepcopy(source)
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


class _Step(IterDataPipe):
    """A pipe behind another one, as long as that."""

    def __init__(self, datapipe: Iterable[Any]) -> None:
        self.datapipe = datapipe

    def __len__(self) -> int:
        return len(self.datapipe)  # type: ignore[arg-type]


@functional_datapipe("map")
class Mapper(_Step):
    """`map`: what a function makes of each sample; of one part of it, and into another.

    Args:
        datapipe: the samples.
        fn: the function.
        input_col: the index or key of its argument, or a list of them; None: the sample.
        output_col: where in the sample the result goes; None: to `input_col`, or the result alone.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([(1, 2)]).map(lambda x: -x, input_col=1))
        [(1, -2)]
    """

    def __init__(
        self,
        datapipe: Iterable[Any],
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        super().__init__(datapipe)
        self.fn = _function("map", "fn", fn)
        self.input_col, self.output_col = input_col, output_col
        if input_col is None and output_col is not None:
            raise ValueError("map(): output_col needs input_col")

    def _of(self, sample: Any) -> Any:
        if self.input_col is None:
            return self.fn(sample)
        several = isinstance(self.input_col, list | tuple)
        columns = self.input_col if several else [self.input_col]
        result = self.fn(*(sample[column] for column in columns))
        target = self.output_col if self.output_col is not None else columns[0]
        parts = list(sample) if isinstance(sample, tuple) else copy.copy(sample)
        if target == -1 and self.output_col is not None:
            parts.append(result)
        else:
            parts[target] = result
        return tuple(parts) if isinstance(sample, tuple) else parts

    def __iter__(self) -> Iterator[Any]:
        return (self._of(sample) for sample in self.datapipe)


@functional_datapipe("collate")
class Collator(Mapper):
    """`collate`: batches of what `utils.data.default_collate`, or another function, makes of lists.

    Args:
        datapipe: lists of samples.
        collate_fn: the function.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([[1, 2], [3]]).collate())
        [tensor([1, 2]), tensor([3])]
    """

    def __init__(
        self, datapipe: Iterable[Any], collate_fn: Callable[..., Any] = default_collate
    ) -> None:
        super().__init__(datapipe, collate_fn)


@functional_datapipe("filter")
class Filter(_Step):
    """`filter`: the samples of which a function says True.

    Args:
        datapipe: the samples.
        filter_fn: the function.
        input_col: the index or key of its argument; None: the sample.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(4)).filter(lambda x: x > 1))
        [2, 3]
    """

    def __init__(
        self, datapipe: Iterable[Any], filter_fn: Callable[..., Any], input_col: Any = None
    ) -> None:
        super().__init__(datapipe)
        self.filter_fn = _function("filter", "filter_fn", filter_fn)
        self.input_col = input_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            if self.filter_fn(sample if self.input_col is None else sample[self.input_col]):
                yield sample

    def __len__(self) -> int:
        raise TypeError("Filter has no length: it is not known which samples are left")


@functional_datapipe("batch")
class Batcher(_Step):
    """`batch`: lists of samples.

    Args:
        datapipe: the samples.
        batch_size: of each list.
        drop_last: leave out a last one that is shorter.
        wrapper_class: what is made of each list.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).batch(2, drop_last=True))
        [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        datapipe: Iterable[Any],
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = list,
    ) -> None:
        super().__init__(datapipe)
        self.batch_size = _positive("batch", "batch_size", batch_size)
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        samples = iter(self.datapipe)
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        whole, rest = divmod(super().__len__(), self.batch_size)
        return whole + bool(rest and not self.drop_last)


@functional_datapipe("unbatch")
class UnBatcher(_Step):
    """`unbatch`: what lists hold, one after the other.

    Args:
        datapipe: lists.
        unbatch_level: of how many levels of lists; -1: of all.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([[1, 2], [3]]).unbatch())
        [1, 2, 3]
    """

    def __init__(self, datapipe: Iterable[Any], unbatch_level: int = 1) -> None:
        super().__init__(datapipe)
        if not isinstance(unbatch_level, int) or unbatch_level < -1:
            raise ValueError(f"unbatch(): unbatch_level must be -1 or more, got {unbatch_level}")
        self.unbatch_level = unbatch_level

    def _flat(self, sample: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level < 0 and not isinstance(sample, list)):
            yield sample
            return
        if not isinstance(sample, Iterable):
            raise IndexError(
                f"unbatch(): unbatch_level {self.unbatch_level} is more than the lists have levels"
            )
        for item in sample:
            yield from self._flat(item, level - 1)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(
            self._flat(sample, self.unbatch_level) for sample in self.datapipe
        )

    def __len__(self) -> int:
        raise TypeError("UnBatcher has no length: it is not known what lists hold")


@functional_datapipe("shuffle")
class Shuffler(_Step):
    """`shuffle`: the samples in another order; each is drawn from a buffer of the next ones.

    Args:
        datapipe: the samples.
        buffer_size: how many samples the buffer holds.
        unbatch_level: of lists, shuffle what they hold: as of `unbatch`.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> sorted(IterableWrapper(range(3)).shuffle())
        [0, 1, 2]
    """

    def __init__(
        self, datapipe: Iterable[Any], *, buffer_size: int = 10000, unbatch_level: int = 0
    ) -> None:
        super().__init__(datapipe if unbatch_level == 0 else UnBatcher(datapipe, unbatch_level))
        self.buffer_size = _positive("shuffle", "buffer_size", buffer_size)
        self._enabled = True
        self._seed: int | None = None
        self._begun = 0

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Whether samples are shuffled; returns self."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """Draws from this seed in the next iteration; returns self."""
        self._seed = seed
        return self

    def _next_seed(self) -> int:
        given, self._seed = self._seed, None
        if given is not None:
            return given
        worker = get_worker_info()
        if worker is None:
            return int(flambeau.empty((), dtype=flambeau.int64).random_().item())
        # The same in all workers, among which a later step divides the samples.
        self._begun += 1
        return worker.seed - worker.id + self._begun

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        draw = random.Random(self._next_seed())
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            place = draw.randrange(self.buffer_size)
            yield buffer[place]
            buffer[place] = sample
        draw.shuffle(buffer)
        yield from buffer


@functional_datapipe("sharding_filter")
class ShardingFilter(_Step):
    """`sharding_filter`: each worker of a DataLoader gets a part of the samples, every n-th.

    Args:
        source_datapipe: the samples, the same in each worker.
        sharding_group_filter: accepted.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> part = IterableWrapper(range(5)).sharding_filter()
        >>> part.apply_sharding(2, 1)
        >>> list(part)
        [1, 3]
    """

    def __init__(self, source_datapipe: Iterable[Any], sharding_group_filter: Any = None) -> None:
        super().__init__(source_datapipe)
        self._number, self._count = 0, 1

    def apply_sharding(self, num_of_instances: int, instance_id: int) -> None:
        """Of how many parts which one is given, where no worker says it."""
        if not 0 <= instance_id < num_of_instances:
            raise ValueError(
                f"apply_sharding(): instance_id must be within [0, {num_of_instances - 1}], got "
                f"{instance_id}"
            )
        self._number, self._count = instance_id, num_of_instances

    def _part(self) -> tuple[int, int]:
        worker = get_worker_info()
        if worker is None:
            return self._number, self._count
        return self._number * worker.num_workers + worker.id, self._count * worker.num_workers

    def __iter__(self) -> Iterator[Any]:
        number, count = self._part()
        return itertools.islice(self.datapipe, number, None, count)

    def __len__(self) -> int:
        number, count = self._part()
        return len(range(number, super().__len__(), count))


class _Several(IterDataPipe):
    """A pipe behind several others."""

    def __init__(self, *datapipes: Iterable[Any]) -> None:
        if not datapipes:
            raise ValueError(f"{type(self).__name__}: expected at least one pipe")
        for pipe in datapipes:
            if not isinstance(pipe, Iterable):
                raise TypeError(f"{type(self).__name__}: expected pipes, got {brief(pipe)}")
        self.datapipes = datapipes

    def _lengths(self) -> list[int]:
        return [len(pipe) for pipe in self.datapipes]  # type: ignore[arg-type]


@functional_datapipe("concat")
class Concater(_Several):
    """`concat`: the samples of several pipes, one pipe after the other.

    Args:
        datapipes: the pipes.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1]).concat([2, 3]))
        [1, 2, 3]
    """

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain(*self.datapipes)

    def __len__(self) -> int:
        return sum(self._lengths())


@functional_datapipe("zip")
class Zipper(_Several):
    """`zip`: tuples of the samples of several pipes, as many as the shortest has.

    Args:
        datapipes: the pipes.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 2]).zip([3, 4]))
        [(1, 3), (2, 4)]
    """

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(self._lengths())


@functional_datapipe("mux")
class Multiplexer(_Several):
    """`mux`: a sample of each pipe in turn, until one has no more.

    Args:
        datapipes: the pipes.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 2]).mux([3, 4]))
        [1, 3, 2, 4]
    """

    def __iter__(self) -> Iterator[Any]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(self._lengths()) * len(self.datapipes)


class _Shared:
    """A source that several pipes read: what one reads ahead waits for the others."""

    def __init__(
        self, source: Iterable[Any], count: int, places: Callable[[Any], Sequence[int]], most: int
    ) -> None:
        self.source, self.count, self.places, self.most = source, count, places, most
        self.waiting: list[deque[Any]] = [deque() for _ in range(count)]
        self.iterator: Iterator[Any] | None = None
        self.begun: set[int] = set()

    def samples(self, number: int) -> Iterator[Any]:
        # A pipe that begins again begins a new reading.
        if self.iterator is None or number in self.begun:
            self.iterator = iter(self.source)
            self.waiting = [deque() for _ in range(self.count)]
            self.begun = set()
        self.begun.add(number)
        reading = self.iterator
        while True:
            if self.iterator is not reading:
                raise RuntimeError("fork, demux: another of the pipes began to be read again")
            if self.waiting[number]:
                yield self.waiting[number].popleft()
                continue
            try:
                sample = next(reading)
            except StopIteration:
                return
            for place in self.places(sample):
                self.waiting[place].append(sample)
            ahead = max(len(queue) for queue in self.waiting)
            if self.most >= 0 and ahead > self.most:
                raise BufferError(
                    f"fork, demux: {ahead} samples wait for a pipe, and buffer_size is {self.most}"
                )


class _Part(IterDataPipe):
    """One of several pipes that read one source."""

    def __init__(self, shared: _Shared, number: int, has_all: bool) -> None:
        self._shared, self._number, self._has_all = shared, number, has_all

    def __iter__(self) -> Iterator[Any]:
        return self._shared.samples(self._number)

    def __len__(self) -> int:
        if not self._has_all:
            raise TypeError("demux: it is not known how many samples a pipe gets")
        return len(self._shared.source)  # type: ignore[arg-type]


@functional_datapipe("fork")
class Forker(IterDataPipe):
    """`fork`: several pipes of the same samples, from one reading.

    Args:
        datapipe: the samples.
        num_instances: how many pipes.
        buffer_size: how many samples may wait for the slowest; -1: any number.
        copy: None; "shallow" or "deep": samples are copied for each pipe.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> first, second = IterableWrapper(range(3)).fork(2)
        >>> list(first), list(second)
        ([0, 1, 2], [0, 1, 2])
    """

    def __new__(  # type: ignore[misc]
        cls,
        datapipe: Iterable[Any],
        num_instances: int,
        buffer_size: int = 1000,
        copy: str | None = None,
    ) -> list[IterDataPipe]:
        count = _positive("fork", "num_instances", num_instances)
        ways = {None: None, "shallow": _shallow, "deep": _deep}
        if copy not in ways:
            raise ValueError(f"fork(): copy must be None, 'shallow' or 'deep', got {brief(copy)}")
        shared = _Shared(datapipe, count, lambda sample: range(count), buffer_size)
        parts: list[Any] = [_Part(shared, number, has_all=True) for number in range(count)]
        way = ways[copy]
        return parts if way is None else [Mapper(part, way) for part in parts]


def _shallow(sample: Any) -> Any:
    return copy.copy(sample)


def _deep(sample: Any) -> Any:
    return copy.deepcopy(sample)


@functional_datapipe("demux")
class Demultiplexer(IterDataPipe):
    """`demux`: several pipes among which a function divides the samples.

    Args:
        datapipe: the samples.
        num_instances: how many pipes.
        classifier_fn: the number of the pipe that a sample goes to.
        drop_none: leave out samples of which it says None.
        buffer_size: how many samples may wait for a pipe; -1: any number.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> even, odd = IterableWrapper(range(5)).demux(2, lambda x: x % 2)
        >>> list(even), list(odd)
        ([0, 2, 4], [1, 3])
    """

    def __new__(  # type: ignore[misc]
        cls,
        datapipe: Iterable[Any],
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> list[IterDataPipe]:
        count = _positive("demux", "num_instances", num_instances)
        _function("demux", "classifier_fn", classifier_fn)

        def places(sample: Any) -> Sequence[int]:
            place = classifier_fn(sample)
            if place is None and drop_none:
                return ()
            if place is None or not 0 <= place < count:
                raise ValueError(
                    f"demux(): classifier_fn must give a number within [0, {count - 1}], got "
                    f"{brief(place)}"
                )
            return (int(place),)

        shared = _Shared(datapipe, count, places, buffer_size)
        return [_Part(shared, number, has_all=False) for number in range(count)]
