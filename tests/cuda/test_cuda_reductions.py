"""Reductions over every geometry, compared with NumPy in float64; repeatable to the bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau

SHAPES = [
    (1,),
    (5,),
    (1000,),
    (1 << 20,),
    (3_000_017,),
    (64, 1000),
    (1000, 64),
    (5000, 3),
    (3, 5000),
]
SHAPES += [(17, 33, 65), (2, 1, 300, 7), (40_000, 130), (130, 40_000), (0, 4), (4, 0)]


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


def dims_of(rank: int) -> list[tuple[int, ...]]:
    return [c for r in range(1, rank + 1) for c in itertools.combinations(range(rank), r)]


@pytest.mark.parametrize("shape", SHAPES)
def test_sum_over_all_dims(shape: tuple[int, ...]) -> None:
    values = numbers(shape)
    x = flambeau.from_numpy(values).to("cuda")
    for dims in dims_of(len(shape)):
        wanted = values.astype(np.float64).sum(dims)
        scale = np.sqrt(values.size / max(wanted.size, 1) + 1)
        np.testing.assert_allclose(x.sum(dims).cpu().numpy(), wanted, atol=2e-6 * scale, rtol=2e-6)


@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
def test_extremes_over_all_dims(shape: tuple[int, ...]) -> None:
    values = numbers(shape)
    x = flambeau.from_numpy(values).to("cuda")
    for dims in dims_of(len(shape)):
        np.testing.assert_array_equal(x.amax(dims).cpu().numpy(), values.max(dims))
        np.testing.assert_array_equal(x.amin(dims).cpu().numpy(), values.min(dims))


def test_layouts() -> None:
    values = numbers((12, 40, 50))
    x = flambeau.from_numpy(values).to("cuda")
    for order in itertools.permutations(range(3)):
        view, array = x.permute(order)[1:, ::2], values.transpose(order)[1:, ::2].astype(np.float64)
        for dims in dims_of(3):
            np.testing.assert_allclose(view.sum(dims).cpu().numpy(), array.sum(dims), atol=1e-4)
    for start in range(6):  # rows that do not begin at multiples of 16 bytes
        part, array = x[:, :, start:], values[:, :, start:].astype(np.float64)
        np.testing.assert_allclose(part.sum(2).cpu().numpy(), array.sum(2), atol=1e-4)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64", "int8", "int64", "bool"])
@pytest.mark.parametrize("columns", [500, 504])  # of every dtype, 504 are whole groups
def test_dtypes(name: str, columns: int) -> None:
    counted = np.zeros((300, columns), dtype=np.int64)
    counted[::3, ::97] = 1  # every sum is exact in every dtype
    counted[7, 130:138] = 1
    counted[:, 3] = 0
    x = flambeau.from_numpy(counted).to(getattr(flambeau, name)).to("cuda")
    assert float(x.sum()) == counted.sum()
    np.testing.assert_array_equal(x.sum(0).cpu().to(flambeau.float64).numpy(), counted.sum(0))
    assert bool(x.any()) and not bool(x.all())


@pytest.mark.parametrize("shape", [(5000, 16), (70, 4096), (3, 200, 8), (2, 30, 4, 40)])
def test_two_results_of_columns(shape: tuple[int, ...]) -> None:
    values = numbers(shape)
    x = flambeau.from_numpy(values).to("cuda")
    for dims in dims_of(len(shape) - 1):
        variance, mean = (part.cpu().numpy() for part in flambeau.var_mean(x, dims, correction=0))
        np.testing.assert_allclose(mean, values.mean(dims, dtype=np.float64), atol=1e-5)
        np.testing.assert_allclose(variance, values.var(dims, dtype=np.float64), atol=1e-5)


def test_nan_wins() -> None:
    values = numbers((100, 1000))
    values[7, 13] = np.nan
    x = flambeau.from_numpy(values).to("cuda")
    assert np.isnan(float(x.amax()))
    np.testing.assert_array_equal(x.amax(1).cpu().numpy(), values.max(1))


@pytest.mark.parametrize("shape", [(3_000_017,), (40_000, 130), (130, 40_000)])
def test_repeats_to_the_bit(shape: tuple[int, ...]) -> None:
    x = flambeau.from_numpy(numbers(shape)).to("cuda")
    for dims in dims_of(len(shape)):
        first = x.sum(dims).cpu().numpy()
        for _ in range(10):
            np.testing.assert_array_equal(x.sum(dims).cpu().numpy(), first)
