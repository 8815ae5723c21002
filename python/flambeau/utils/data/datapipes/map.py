"""Data pipes that are indexed, and their steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import flambeau
from flambeau._values import brief
from flambeau.utils.data.datapipes.datapipe import MapDataPipe, functional_datapipe
from flambeau.utils.data.datapipes.iter import Batcher as _IterBatcher
from flambeau.utils.data.datapipes.iter import IterableWrapper

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe):
    """A pipe of a sequence or a dict.

    Args:
        sequence: that.
        deepcopy: use a copy of it.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper({"a": 3})["a"]
        3
    """

    def __init__(self, sequence: Sequence[Any] | Mapping[Any, Any], deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe):
    """`map`: what a function makes of each sample, when it is asked for.

    Args:
        datapipe: the samples.
        fn: the function.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1, 2]).map(str)[1]
        '2'
    """

    def __init__(self, datapipe: Any, fn: Callable[..., Any]) -> None:
        if not callable(fn):
            raise TypeError(f"map(): fn must be a function, got {brief(fn)}")
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class Batcher(MapDataPipe):
    """`batch`: lists of samples; a last one that is shorter, unless `drop_last`.

    Args:
        datapipe: the samples.
        batch_size: of each list.
        drop_last: leave out a last one that is shorter.
        wrapper_class: what is made of each list.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1, 2, 3]).batch(2)[1]
        [3]
    """

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = list,
    ) -> None:
        # The same arguments, and the same length.
        self._batches = _IterBatcher(datapipe, batch_size, drop_last, wrapper_class)

    def __getitem__(self, index: int) -> Any:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"batch(): index {index} is out of range for {count} batches")
        size, source = self._batches.batch_size, self._batches.datapipe
        begin = index % count * size
        places = range(begin, min(begin + size, len(source)))  # type: ignore[arg-type]
        return self._batches.wrapper_class([source[i] for i in places])  # type: ignore[index]

    def __len__(self) -> int:
        return len(self._batches)


class Shuffler(IterableWrapper):
    """`shuffle`: the samples in another order, iterated over.

    Args:
        datapipe: the samples.
        indices: of all samples; None: 0 to n - 1.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> sorted(SequenceWrapper([3, 1]).shuffle())
        [1, 3]
    """

    def __init__(self, datapipe: Any, *, indices: Sequence[Any] | None = None) -> None:
        super().__init__(datapipe, deepcopy=False)
        self.indices = list(range(len(datapipe))) if indices is None else list(indices)
        self._seed: int | None = None

    def set_seed(self, seed: int) -> Self:
        """Draws from this seed in the next iteration; returns self."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        generator = None
        if self._seed is not None:
            generator = flambeau.Generator().manual_seed(self._seed)
            self._seed = None
        order = flambeau.randperm(len(self.indices), generator=generator).tolist()
        return (self.iterable[self.indices[i]] for i in order)  # type: ignore[index]

    def __len__(self) -> int:
        return len(self.indices)


# It is iterated over, and a step of pipes that are not.
MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)


@functional_datapipe("concat")
class Concater(MapDataPipe):
    """`concat`: the samples of several pipes, one pipe after the other.

    Args:
        datapipes: the pipes.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1]).concat(SequenceWrapper([2]))[1]
        2
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("concat(): expected at least one pipe")
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        left = index
        for pipe in self.datapipes:
            if left < len(pipe):
                return pipe[left]
            left -= len(pipe)
        raise IndexError(f"concat(): index {index} is out of range for {len(self)} samples")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class Zipper(MapDataPipe):
    """`zip`: tuples of the samples of several pipes, as many as the shortest has.

    Args:
        datapipes: the pipes.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1]).zip(SequenceWrapper([2]))[0]
        (1, 2)
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("zip(): expected at least one pipe")
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)
