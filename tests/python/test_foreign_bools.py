"""Bools whose byte is neither 0 nor 1, as memory of others may hold them: true, everywhere."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def some_bytes(shape: tuple[int, ...]) -> np.ndarray:
    generator = np.random.default_rng(0)
    values = generator.choice(np.array([0, 0, 1, 2, 4, 127, 128, 254, 255], np.uint8), shape)
    return np.ascontiguousarray(values)


def by_file(values: np.ndarray) -> Tensor:
    """A file keeps bytes as they are."""
    file = io.BytesIO()
    flambeau.save(flambeau.from_numpy(values.view(bool)), file)
    file.seek(0)
    loaded: Tensor = flambeau.load(file)
    np.testing.assert_array_equal(loaded.numpy().view(np.uint8), values)
    return loaded


def by_writing(values: np.ndarray) -> Tensor:
    """Shared memory that is written after it was imported."""
    memory = np.zeros(values.shape, bool)
    tensor = flambeau.from_numpy(memory)
    memory.view(np.uint8)[...] = values
    return tensor


ENTRIES: dict[str, Callable[[np.ndarray], Tensor]] = {
    "from_numpy": lambda v: flambeau.from_numpy(v.view(bool)),
    "tensor": lambda v: flambeau.tensor(v.view(bool)),
    "frombuffer": lambda v: flambeau.frombuffer(bytearray(v), dtype=flambeau.bool).view(v.shape),
    "DLPack": lambda v: flambeau.from_dlpack(flambeau.from_numpy(v.view(bool)).__dlpack__()),
    "view": lambda v: flambeau.from_numpy(v).view(flambeau.bool),
    "file": by_file,
    "writing": by_writing,
    "strided": lambda v: flambeau.from_numpy(np.repeat(v, 2, -1).view(bool))[..., ::2],
    "transposed": lambda v: flambeau.from_numpy(np.ascontiguousarray(v.T).view(bool)).T,
}

OPERATORS: dict[str, tuple[Callable[[Tensor], Any], Callable[[np.ndarray], Any]]] = {
    "masked_select": (lambda x: ordered(x).masked_select(x), lambda x: ordered_array(x)[x]),
    "index": (lambda x: ordered(x)[x], lambda x: ordered_array(x)[x]),
    "nonzero": (flambeau.nonzero, lambda x: np.stack(np.nonzero(x), 1)),
    "count_nonzero": (lambda x: x.count_nonzero(), np.count_nonzero),
    "sum": (lambda x: x.sum(), np.sum),
    "sum of rows": (lambda x: x.sum(1), lambda x: x.sum(1)),
    "sum of columns": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "prod": (lambda x: x.prod(1), lambda x: x.prod(1)),
    "any": (lambda x: x.any(1), lambda x: x.any(1)),
    "all": (lambda x: x.all(0), lambda x: x.all(0)),
    "amax": (lambda x: x.amax(1), lambda x: x.max(1)),
    "argmax": (lambda x: x.argmax(1), lambda x: x.argmax(1)),
    "argmin of columns": (lambda x: x.argmin(0), lambda x: x.argmin(0)),
    "max": (lambda x: x.max(1).values, lambda x: x.max(1)),
    "cumsum": (lambda x: x.cumsum(1), lambda x: x.cumsum(1)),
    "cumsum of columns": (lambda x: x.cumsum(0), lambda x: x.cumsum(0)),
    "cumprod": (lambda x: x.cumprod(1), lambda x: x.cumprod(1)),
    "sort": (lambda x: x.sort(1, stable=True).values, lambda x: np.sort(x, 1)),
    "argsort": (
        lambda x: x.argsort(1, stable=True),
        lambda x: np.argsort(x, 1, kind="stable"),
    ),
    "topk": (lambda x: x.topk(2, 1).values, lambda x: np.sort(x, 1)[:, ::-1][:, :2]),
    "unique": (flambeau.unique, np.unique),
    "unique_consecutive": (
        flambeau.unique_consecutive,
        lambda x: x.ravel()[np.r_[True, x.ravel()[1:] != x.ravel()[:-1]]],
    ),
    "where": (
        lambda x: flambeau.where(x, ordered(x), -ordered(x)),
        lambda x: np.where(x, ordered_array(x), -ordered_array(x)),
    ),
    "masked_fill": (
        lambda x: ordered(x).masked_fill(x, -1),
        lambda x: np.where(x, -1, ordered_array(x)),
    ),
    "not": (lambda x: ~x, np.logical_not),
    "and": (lambda x: x & x.logical_not(), lambda x: np.zeros_like(x)),
    "or": (lambda x: x | x, lambda x: x),
    "xor": (lambda x: x ^ flambeau.ones(x.shape, dtype=flambeau.bool), np.logical_not),
    "eq": (lambda x: x == flambeau.ones(x.shape, dtype=flambeau.bool), lambda x: x),
    "less": (lambda x: x < flambeau.ones(x.shape, dtype=flambeau.bool), np.logical_not),
    "add": (lambda x: x + x, lambda x: x),
    "mul": (lambda x: x * 3, lambda x: x * 3),
    "float": (lambda x: x.float(), lambda x: x.astype(np.float32)),
    "half": (lambda x: x.half(), lambda x: x.astype(np.float16)),
    "long": (lambda x: x.long(), lambda x: x.astype(np.int64)),
    "byte": (lambda x: x.byte(), lambda x: x.astype(np.uint8)),
    "complex": (lambda x: x.cfloat(), lambda x: x.astype(np.complex64)),
    "list": (lambda x: x.tolist(), lambda x: x.tolist()),
    "items": (lambda x: [e.item() for e in x.flatten()[:9]], lambda x: x.ravel()[:9].tolist()),
    "gather": (
        lambda x: x.gather(0, flambeau.zeros((1, x.shape[1]), dtype=flambeau.int64)) + 0,
        lambda x: x[:1] + 0,
    ),
    "index_put": (lambda x: put(ordered(x), x), lambda x: np.where(x, -1.0, ordered_array(x))),
    "masked_scatter": (
        lambda x: ordered(x).masked_scatter(x, -ordered(x)),
        lambda x: scattered(ordered_array(x), x),
    ),
    "equal": (lambda x: flambeau.equal(x, x.logical_not().logical_not()), lambda x: True),
}


def ordered(like: Tensor) -> Tensor:
    return flambeau.arange(like.numel(), dtype=flambeau.float64).view(like.shape)


def ordered_array(like: np.ndarray) -> np.ndarray:
    return np.arange(like.size, dtype=np.float64).reshape(like.shape)


def put(x: Tensor, mask: Tensor) -> Tensor:
    x[mask] = -1
    return x


def scattered(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    x[mask] = -np.arange(x.size, dtype=np.float64)[: mask.sum()]
    return x


@pytest.mark.parametrize("shape", [(3, 5), (70, 90), (300, 700)], ids=str)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_any_byte_is_true(operator: str, entry: str, shape: tuple[int, ...]) -> None:
    function, reference = OPERATORS[operator]
    values = some_bytes(shape)
    found = function(ENTRIES[entry](values))
    expected = reference(values != 0)
    if isinstance(found, Tensor):
        found = found.numpy()
        if found.dtype == bool:
            found = found.view(np.uint8) != 0
    np.testing.assert_array_equal(found, expected)


def test_imports_stay_without_a_copy() -> None:
    values = some_bytes((4, 5)).view(bool)
    x = flambeau.from_numpy(values)
    assert x.data_ptr() == values.ctypes.data
    np.testing.assert_array_equal(x.numpy().view(np.uint8), values.view(np.uint8))


def test_masks_that_change_while_they_are_read() -> None:
    """Whatever is found, nothing is written outside of it."""
    memory = np.zeros(200_000, np.uint8)
    mask = flambeau.from_numpy(memory.view(bool))
    data = flambeau.ones(200_000)
    stop = threading.Event()

    def change() -> None:
        generator = np.random.default_rng(0)
        while not stop.is_set():
            memory[:] = generator.integers(0, 256, memory.size, np.uint8) * (
                generator.random() < 0.5
            )

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(100):
        for found in (data.masked_select(mask), mask.nonzero(), data[mask]):
            assert found.shape[0] <= memory.size
        flambeau.zeros(200_000).masked_scatter_(mask, data)
    stop.set()
    thread.join()


def test_a_hostile_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mask"
    values = some_bytes((6, 7))
    flambeau.save({"mask": by_file(values)}, path)
    mask = flambeau.load(path)["mask"]
    assert mask.sum().item() == (values != 0).sum()
