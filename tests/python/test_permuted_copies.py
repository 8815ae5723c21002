"""Copies of dims in any order, and rows that repeat, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau

SIZES = [(3, 5, 2, 2, 4), (2, 7, 3, 1, 6), (2, 2, 2, 2, 2, 9)]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_permuted_copies(sizes: tuple[int, ...], dtype: str) -> None:
    values = np.arange(np.prod(sizes)).reshape(sizes).astype(dtype)
    given = flambeau.from_numpy(values)
    orders = list(itertools.permutations(range(len(sizes))))
    for order in orders[:: max(1, len(orders) // 120)]:
        copy = given.permute(order).contiguous()
        assert np.array_equal(copy.numpy(), values.transpose(order)), order
        # Into gaps, from the end to the start.
        wide = np.zeros((*np.array(sizes)[list(order)][:-1], 2 * sizes[order[-1]]), dtype)
        into = flambeau.from_numpy(wide)[..., ::2]
        into.copy_(given.permute(order).flip(0))
        assert np.array_equal(wide[..., ::2], values.transpose(order)[::-1]), order
        assert not wide[..., 1::2].any()


@pytest.mark.parametrize("channels", [7, 60, 128, 255])
@pytest.mark.parametrize("name", ["mul", "atan2", "floor_divide"])
def test_rows_that_repeat_for_a_sample(name: str, channels: int) -> None:
    generator = np.random.default_rng(0)
    images = generator.standard_normal((3, 61, 41, channels)).astype(np.float32)
    scales = generator.standard_normal((3, 1, 1, channels)).astype(np.float32)
    function = {"mul": np.multiply, "atan2": np.arctan2, "floor_divide": np.floor_divide}[name]
    one, other = flambeau.from_numpy(images), flambeau.from_numpy(scales)
    for x, y, a, b in ((one, other, images, scales), (other, one, scales, images)):
        found = getattr(flambeau, name)(x, y).numpy()
        assert np.allclose(found, function(a, b), rtol=1e-6, atol=1e-6)
    halves = getattr(flambeau, name)(one.half(), other.half()).float().numpy()
    wanted = function(one.half().float().numpy(), other.half().float().numpy())
    assert np.allclose(halves, wanted, rtol=2e-3, atol=2e-3)
