"""Memory that others look at stays where it is, whatever becomes of the tensor."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

EXPORTS: dict[str, Callable[[Tensor], Any]] = {
    "numpy": lambda x: x.numpy(),
    "array protocol": np.asarray,
    "array of a view": lambda x: x[0:].numpy(),
    "memoryview": memoryview,
    "DLPack": np.from_dlpack,
    "DLPack of this library": flambeau.from_dlpack,
    "data": lambda x: x.data,
    "storage": lambda x: np.frombuffer(x.untyped_storage(), np.float32),
    "storage as memoryview": lambda x: memoryview(x.untyped_storage()).cast("f"),
    "pickle buffer": lambda x: memoryview(pickle.PickleBuffer(x.untyped_storage())).cast("f"),
}

CHANGES: dict[str, Callable[[Tensor], object]] = {
    "other data": lambda x: setattr(x, "data", flambeau.zeros(2)),
    "data of another dtype": lambda x: setattr(x, "data", flambeau.zeros(3000, 2).double()),
    "its own data": lambda x: setattr(x, "data", x.data.data),
}

SIZES = (3, 200, 5000, 300_000)  # of every kind of block that the allocator knows


def churn(size: int) -> None:
    """Takes and gives back blocks of this size: what was freed is overwritten."""
    for _ in range(3):
        [flambeau.full((size,), -7.0) for _ in range(4)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("export", EXPORTS)
def test_an_export_outlives_the_tensors_data(export: str, change: str, size: int) -> None:
    x = flambeau.arange(size, dtype=flambeau.float32)
    seen = EXPORTS[export](x)
    CHANGES[change](x)
    churn(size)
    np.testing.assert_array_equal(np.asarray(seen), np.arange(size, dtype=np.float32))
    del x
    gc.collect()
    churn(size)
    np.testing.assert_array_equal(np.asarray(seen), np.arange(size, dtype=np.float32))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("export", EXPORTS)
def test_a_shared_storage_does_not_grow(export: str, size: int) -> None:
    x = flambeau.arange(size, dtype=flambeau.float32)
    source = flambeau.ones(size + 1)
    seen = EXPORTS[export](x)
    calls: dict[str, Callable[[Tensor], object]] = {
        "add": lambda out: flambeau.add(source, 1, out=out),
        "sum": lambda out: flambeau.sum(source.view(-1, 1), 1, out=out),
        "cat": lambda out: flambeau.cat([source, source], out=out),
    }
    for name, call in calls.items():
        with pytest.raises(RuntimeError, match=rf"{name}\(\): .*memory is shared"):
            call(x[:0])
    churn(size)
    np.testing.assert_array_equal(np.asarray(seen), np.arange(size, dtype=np.float32))
    np.testing.assert_array_equal(x.tolist(), np.arange(size))
    del seen
    gc.collect()
    flambeau.add(source, 1, out=x[:0])  # nobody looks any more
    assert x.tolist() == [2.0] * size
    assert x.untyped_storage().nbytes() == (size + 1) * 4


def test_foreign_memory_does_not_grow() -> None:
    values = np.arange(3.0)
    x = flambeau.from_numpy(values)
    with pytest.raises(RuntimeError, match=r"add\(\): .*belongs to someone else"):
        flambeau.add(flambeau.ones(4), 1, out=x[:0])
    np.testing.assert_array_equal(values, [0, 1, 2])


def test_an_empty_out_writes_where_it_lies() -> None:
    """As slices of a NumPy array would be: nothing else moves, nothing shrinks."""
    x = flambeau.arange(10.0)
    expected = np.arange(10.0)
    for begin, count in ((0, 2), (5, 3)):
        out = x[begin:begin]
        returned = flambeau.add(flambeau.ones(count), begin, out=out)
        expected[begin : begin + count] = 1 + begin
        assert returned is out
        assert out.storage_offset() == begin
        assert out.tolist() == [1.0 + begin] * count
        np.testing.assert_array_equal(x.numpy(), expected)
    assert x.untyped_storage().nbytes() == 40


def test_an_empty_out_grows_the_storage_for_all() -> None:
    x = flambeau.arange(4.0)
    out = x[3:3]
    flambeau.add(flambeau.ones(5), 1, out=out)
    assert out.tolist() == [2.0] * 5
    assert x.tolist() == [0, 1, 2, 2]
    assert x.untyped_storage().nbytes() == 8 * 4


def test_data_in_a_loop_makes_no_chain() -> None:
    x = flambeau.arange(3.0)
    for _ in range(100_000):
        x.data = x.data
    assert x.tolist() == [0, 1, 2]


def test_c_functions_get_memory_that_the_reading_of_arguments_did_not_move() -> None:
    fill = flambeau.ops.c_function("void memset(uint8* x, int32 value, int64 n)", "libc.so.6")
    x = flambeau.zeros(5000, dtype=flambeau.uint8)

    class Moves:
        def __index__(self) -> int:
            x.data = flambeau.zeros(5000, dtype=flambeau.uint8)
            return 8

    fill(x, Moves(), 5000)
    assert x.tolist() == [8] * 5000
