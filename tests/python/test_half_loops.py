"""Pointwise operators on halves: computed as float32 and rounded once, however operands lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau

DTYPES = [flambeau.bfloat16, flambeau.float16]
SHAPES = [
    ((70, 300), (70, 300)),
    ((885, 1), (1, 1180)),
    ((3, 1, 700), (40, 1)),
    ((2, 1, 1, 600), (1, 50, 3, 1)),
    ((5000,), (1,)),
    ((4, 4), (4,)),
    ((1200, 30), (30,)),
]


def halves(shape: tuple[int, ...], dtype: flambeau.dtype, seed: int) -> flambeau.Tensor:
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return flambeau.from_numpy(numbers).to(dtype)


def same_bits(found: flambeau.Tensor, wanted: flambeau.Tensor) -> None:
    assert found.dtype == wanted.dtype
    pairs = (x.contiguous().view(flambeau.int16).numpy() for x in (found, wanted))
    np.testing.assert_array_equal(*pairs)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "fmod", "hypot", "atan2", "pow"])
def test_one_rounding(name: str, shapes: Any, dtype: flambeau.dtype) -> None:
    a, b = halves(shapes[0], dtype, 1).abs(), halves(shapes[1], dtype, 2)
    operator = getattr(flambeau, name)
    wanted = operator(a.float(), b.float()).to(dtype)
    for x, y in ((a, b), (a.T.contiguous().T if a.dim() == 2 else a, b)):
        same_bits(operator(x, y), wanted)
    result = flambeau.empty(wanted.shape, dtype=dtype)
    same_bits(operator(a, b, out=result), wanted)
    apart = flambeau.empty(*wanted.shape, 2, dtype=dtype)[..., 0]
    same_bits(operator(a, b, out=apart), wanted)
    if a.shape == wanted.shape:
        same_bits(getattr(a.clone(), f"{name}_")(b), wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("count", [1, 15, 16, 17, 63, 64, 65, 1000, 40_001])
def test_every_count(count: int, dtype: flambeau.dtype) -> None:
    x = halves((2 * count,), dtype, 3)
    for part in (x[:count], x[1 : count + 1], x[::2], x.flip(0)[:count]):
        for operator in (flambeau.neg, flambeau.abs, flambeau.relu, flambeau.square):
            same_bits(operator(part), operator(part.float()).to(dtype))
        same_bits(part + 0.25, (part.float() + 0.25).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_is_moved_keeps_its_bits(dtype: flambeau.dtype) -> None:
    """Every pattern: NaNs that signal, subnormal numbers, both zeros."""
    words = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    x = flambeau.from_numpy(words).view(dtype)
    mask = flambeau.from_numpy(words % 3 == 0)
    same_bits(x.clone(), x)
    same_bits(x.reshape(256, 256).T.clone(), x.reshape(256, 256).T)
    chosen = flambeau.where(mask, x, x.flip(0)).view(flambeau.int16).numpy()
    np.testing.assert_array_equal(chosen, np.where(words % 3 == 0, words, words[::-1]))
    filled = x.masked_fill(mask, -2.0).view(flambeau.int16).numpy()
    two = flambeau.tensor(-2.0, dtype=dtype).view(flambeau.int16).item()
    np.testing.assert_array_equal(filled, np.where(words % 3 == 0, two, words))
    numbers = flambeau.where(mask, x, 0.5).view(flambeau.int16).numpy()
    half = flambeau.tensor(0.5, dtype=dtype).view(flambeau.int16).item()
    np.testing.assert_array_equal(numbers, np.where(words % 3 == 0, words, half))
