"""Copies between devices, layouts and dtypes; fills and single elements."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import flambeau

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16"]
DTYPES += ["float32", "float64", "complex64", "complex128"]


def dtype(name: str) -> Any:
    return getattr(flambeau, name)


def values(name: str, count: int) -> flambeau.Tensor:
    """Small integers, exact in every dtype, on the CPU."""
    low = 0 if name in ("bool", "uint8") else -60
    numbers = np.random.default_rng(5).integers(low, 60, count)
    return flambeau.from_numpy(numbers).to(dtype(name))


def same(found: flambeau.Tensor, wanted: flambeau.Tensor) -> None:
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    assert bool((found.cpu() == wanted).all())


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("count", [1, 7, 4096, 100_003])
def test_there_and_back(name: str, count: int) -> None:
    x = values(name, count)
    same(x.to("cuda"), x)


@pytest.mark.parametrize(("source", "target"), list(itertools.product(DTYPES, DTYPES)))
def test_conversion(source: str, target: str) -> None:
    x = values(source, 5003)
    same(x.to("cuda").to(dtype(target)), x.to(dtype(target)))


def test_fractions_and_wrapping() -> None:
    x = flambeau.tensor([-2.7, -0.5, 0.5, 2.7, 300.4, -300.4])
    for name in ("uint8", "int8", "int16", "int32", "int64"):
        same(x.to("cuda").to(dtype(name)), x.to(dtype(name)))


@pytest.mark.parametrize("name", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 5), (33, 65), (128, 128), (7, 40, 9), (2, 3, 50, 70)])
def test_permuted(name: str, shape: tuple[int, ...]) -> None:
    x = values(name, int(np.prod(shape))).reshape(shape)
    on_device = x.to("cuda")
    for order in itertools.permutations(range(len(shape))):
        same(on_device.permute(order).contiguous(), x.permute(order).contiguous())
        same(x.permute(order).to("cuda"), x.permute(order))


def test_slices_and_offsets() -> None:
    x = values("float32", 9 * 1001).reshape(9, 1001)
    y = x.to("cuda")
    for rows, columns in [(slice(1, 8, 3), slice(1, None)), (slice(None), slice(3, 900, 7))]:
        same(y[rows, columns].contiguous(), x[rows, columns].contiguous())
    for start in range(8):
        same(y[:, start:].contiguous() + 0, x[:, start:].contiguous())
        same(y.reshape(-1)[start:] + 1, x.reshape(-1)[start:] + 1)


def test_writing_into_a_slice() -> None:
    x = flambeau.zeros(20, 30)
    y = x.to("cuda")
    x[3:17:2, 1:] = 4
    y[3:17:2, 1:] = 4
    x[:, 0] = flambeau.arange(20)
    y[:, 0] = flambeau.arange(20, device="cuda")
    same(y, x)


@pytest.mark.parametrize("name", DTYPES)
def test_fill_and_item(name: str) -> None:
    x = flambeau.full((13, 17), 1, dtype=dtype(name), device="cuda")
    same(x, flambeau.full((13, 17), 1, dtype=dtype(name)))
    assert x[3, 4].item() == 1
    x.t()[2:9].fill_(0)
    assert float(x.to(flambeau.float32).sum()) == 13 * 17 - 7 * 13


def test_many_dims() -> None:
    x = values("float32", 2**18).reshape((2,) * 18)
    order = list(np.random.default_rng(1).permutation(18))
    same(x.to("cuda").permute(order).contiguous(), x.permute(order).contiguous())
