"""Data pipes: chains of steps, against the same done with lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import flambeau
from flambeau.utils.data import DataLoader, IterDataPipe, MapDataPipe, functional_datapipe
from flambeau.utils.data.datapipes.iter import IterableWrapper
from flambeau.utils.data.datapipes.map import SequenceWrapper


class Count(IterDataPipe):
    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[int]:
        yield from range(self.count)


@functional_datapipe("times_for_tests")
class Times(IterDataPipe):
    def __init__(self, source: Any, factor: int) -> None:
        self.source, self.factor = source, factor

    def __iter__(self) -> Iterator[int]:
        return (x * self.factor for x in self.source)


def test_steps() -> None:
    pipe = Count(6).map(lambda x: x + 1).filter(lambda x: x % 2 == 0)
    assert list(pipe) == [2, 4, 6] and list(pipe.batch(2)) == [[2, 4], [6]]
    assert list(pipe.batch(2, drop_last=True)) == [[2, 4]]
    assert list(Count(3).times_for_tests(4)) == [0, 4, 8]
    assert list(Count(2).zip(Count(3), "abc")) == [(0, 0, "a"), (1, 1, "b")]
    assert list(Count(2).concat(Count(1), [7])) == [0, 1, 0, 7]
    assert list(Count(3).mux([10, 20])) == [0, 10, 1, 20]
    assert list(IterableWrapper([[1, [2]], [3]]).unbatch()) == [1, [2], 3]
    assert list(IterableWrapper([[1, [2]], [3]]).unbatch(unbatch_level=-1)) == [1, 2, 3]
    assert [b.tolist() for b in Count(3).batch(2).collate()] == [[0, 1], [2]]


def test_functions_of_parts_of_samples() -> None:
    pairs = IterableWrapper([(1, 2), (3, 4)])
    assert list(pairs.map(lambda x: -x, input_col=1)) == [(1, -2), (3, -4)]
    assert list(pairs.map(lambda x, y: x + y, [0, 1], 0)) == [(3, 2), (7, 4)]
    assert list(pairs.map(lambda x: x, 0, -1)) == [(1, 2, 1), (3, 4, 3)]
    named = IterableWrapper([{"a": 1}])
    assert list(named.map(lambda x: x * 5, input_col="a", output_col="b")) == [{"a": 1, "b": 5}]
    assert list(named) == [{"a": 1}]
    assert list(pairs.filter(lambda x: x > 2, input_col=0)) == [(3, 4)]


def test_lengths() -> None:
    five, three = IterableWrapper(range(5)), IterableWrapper(range(3))
    assert [len(five.batch(2)), len(five.batch(2, drop_last=True))] == [3, 2]
    assert len(five.zip(three)) == 3
    assert [len(five.concat(three)), len(five.mux(three)), len(five.map(str))] == [8, 6, 5]
    for unknown in (five.filter(bool), five.unbatch(), Count(2).map(str)):
        with pytest.raises(TypeError):
            len(unknown)


def test_orders() -> None:
    pipe = IterableWrapper(range(50)).shuffle(buffer_size=7)
    flambeau.manual_seed(0)
    first, second = list(pipe), list(pipe)
    flambeau.manual_seed(0)
    assert list(pipe) == first != second and sorted(first) == sorted(second) == [*range(50)]
    # What comes out has been in the buffer, or behind it.
    assert all(x < i + 7 for i, x in enumerate(first))
    assert list(pipe.set_seed(3)) == list(pipe.set_seed(3))
    assert list(pipe.set_shuffle(False)) == [*range(50)]
    values = SequenceWrapper("abcdef").shuffle()
    assert list(values.set_seed(1)) == list(values.set_seed(1)) and sorted(values) == [*"abcdef"]


def test_pipes_of_one_reading() -> None:
    begun = []

    def source() -> Iterator[int]:
        begun.append(True)
        yield from range(4)

    class Source(IterDataPipe):
        def __iter__(self) -> Iterator[int]:
            return source()

    first, second = Source().fork(2)
    assert list(zip(first, second, strict=True)) == [(i, i) for i in range(4)] and len(begun) == 1
    assert list(first) == list(second) == [0, 1, 2, 3] and len(begun) == 2
    with pytest.raises(BufferError, match="3 samples wait for a pipe, and buffer_size is 2"):
        list(Source().fork(2, buffer_size=2)[0])
    even, odd = Count(5).demux(2, lambda x: x % 2)
    assert (list(even), list(odd)) == ([0, 2, 4], [1, 3])
    rest = Count(5).demux(1, lambda x: None if x < 3 else 0, drop_none=True)
    assert list(rest[0]) == [3, 4]
    shared = IterableWrapper([[1]]).fork(2, copy="deep")
    assert next(iter(shared[0])) is not next(iter(shared[1]))


def test_by_index() -> None:
    x = SequenceWrapper([5, 6, 7])
    assert [x.batch(2)[i] for i in (0, 1, -1)] == [[5, 6], [7], [7]]
    assert (x.zip(SequenceWrapper("ab"))[1], len(x.zip(SequenceWrapper("ab")))) == ((6, "b"), 2)
    assert (x.concat(x)[4], len(x.concat(x)), x.map(str)[2]) == (6, 6, "7")
    assert [b.tolist() for b in DataLoader(x, batch_size=2)] == [[5, 6], [7]]


def test_loaders_divide_samples_among_workers() -> None:
    pipe = IterableWrapper(range(9)).sharding_filter().map(abs)
    loader = DataLoader(pipe, batch_size=2, num_workers=2)
    assert sorted(x for batch in loader for x in batch.tolist()) == [*range(9)]
    mixed = IterableWrapper(range(20)).shuffle().sharding_filter()
    loader = DataLoader(mixed, batch_size=None, num_workers=2, persistent_workers=True)
    first, second = list(loader), list(loader)
    assert sorted(first) == sorted(second) == [*range(20)] and first != second
    part = IterableWrapper(range(9)).sharding_filter()
    part.apply_sharding(3, 1)
    assert list(part) == [1, 4, 7] and len(part) == 3


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda p: p.nosuch, AttributeError, "IterableWrapper has no attribute or step 'nosuch'"),
        (lambda p: p.batch(0), ValueError, r"batch\(\): batch_size must be a positive number"),
        (lambda p: p.map(3), TypeError, r"map\(\): fn must be a function, got 3"),
        (lambda p: p.map(abs, output_col=0), ValueError, "output_col needs input_col"),
        (lambda p: p.filter(None), TypeError, "filter_fn must be a function"),
        (lambda p: p.shuffle(buffer_size=-1), ValueError, "buffer_size must be a positive"),
        (lambda p: p.fork(0), ValueError, "num_instances must be a positive"),
        (lambda p: p.fork(2, copy="x"), ValueError, "copy must be None, 'shallow' or 'deep'"),
        (lambda p: list(p.demux(2, lambda x: 2)[0]), ValueError, r"within \[0, 1\], got 2"),
        (lambda p: list(p.unbatch(unbatch_level=3)), IndexError, "more than the lists have"),
        (lambda p: p.concat(3), TypeError, "Concater: expected pipes, got 3"),
        (lambda p: functional_datapipe("map")(Count), ValueError, "'map' already"),
        (lambda p: functional_datapipe("x")(int), TypeError, "a class of IterDataPipe"),
        (lambda p: functional_datapipe(3), TypeError, "name must be a string"),
        (lambda p: SequenceWrapper([1]).batch(1)[1], IndexError, "index 1 is out of range"),
        (lambda p: p.sharding_filter().apply_sharding(2, 2), ValueError, r"within \[0, 1\]"),
        (lambda p: len(MapDataPipe()), TypeError, "does not define __len__"),
    ],
)
def test_mistakes(call: Callable[[Any], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call(IterableWrapper([1, 2]))
