"""Rows that meet one element each, and tensors that meet one: the loops that read it once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as torch

LENGTHS = (17, 31, 32, 33, 48, 95, 500, 1029)  # whole vectors or not, a call each or not
DTYPES = (np.float32, np.float64)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    """Some of them NaN, some equal."""
    values = np.random.default_rng(seed).integers(-40, 40, shape) / np.asarray(8, dtype)
    return np.where(values == 1, np.nan, values).astype(dtype)


def pairs(length: int, dtype: Any) -> list[tuple[Any, Any]]:
    """Operands of which one has one element to a row; few rows, many, rows with gaps between."""
    column = numbers((90, 1), dtype, 1)
    gaps = numbers((90, 2 * length), dtype, 2)[:, :length]
    return [
        (numbers((90, length), dtype, 3), column),
        (column, numbers((1, length), dtype, 4)),
        (gaps, column[:5].reshape(5, 1, 1)),
        (numbers((3, 4, length), dtype, 5), column[:12].reshape(3, 4, 1)),
        (numbers((40 * length,), dtype, 6), np.asarray(2.5, dtype)),
        (np.asarray(-0.75, dtype), numbers((length, 7), dtype, 7)),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ["add", "subtract", "minimum", "greater"])
def test_equals_numpy(name: str, length: int, dtype: Any) -> None:
    for left, right in pairs(length, dtype):
        result = getattr(torch, name)(torch.from_numpy(left), torch.from_numpy(right))
        assert np.array_equal(
            result.numpy(), getattr(np, name)(left, right), equal_nan=result.is_floating_point()
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ["subtract", "minimum"])
def test_writes_over_an_operand(name: str, length: int, dtype: Any) -> None:
    left, right = numbers((90, length), dtype, 8), numbers((90, 1), dtype, 9)
    place = torch.from_numpy(left.copy())
    getattr(torch, name)(place, torch.from_numpy(right), out=place)
    assert np.array_equal(place.numpy(), getattr(np, name)(left, right), equal_nan=True)
    place = torch.from_numpy(left.copy())
    getattr(torch, name)(place, place[:, :1].clone(), out=place)
    assert np.array_equal(place.numpy(), getattr(np, name)(left, left[:, :1]), equal_nan=True)


def limited(x: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def between(start: Any, end: Any, weight: Any) -> Any:
    near, far = start + weight * (end - start), end - (end - start) * (1 - weight)
    return np.where(np.abs(weight) < 0.5, near, far)


OF_THREE: dict[str, Callable[..., Any]] = {
    "clamp": limited,
    "lerp": between,
    "where": np.where,
    "addcmul": lambda x, a, b: x + a * b,
}


def shapes_of_three(length: int) -> list[tuple[tuple[int, ...], ...]]:
    """Of which any are one element: in all, or to a row; few rows and many."""
    long, rows, column, few = (40 * length,), (90, length), (90, 1), (3, 4, length)
    numbers_alone = [tuple(s if k else () for s, k in zip((long,) * 3, kept, strict=True))
                     for kept in itertools.product((True, False), repeat=3)]  # fmt: skip
    return [
        *numbers_alone,
        (rows, column, column),
        (rows, column, rows),
        (rows, rows, column),
        (column, rows, rows),
        (rows, (1, length), column),
        (few, (3, 4, 1), ()),
        (few, few, (3, 1, 1)),
    ]


@pytest.mark.parametrize("dtype", [*DTYPES, np.int64])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", OF_THREE)
def test_three_operands(name: str, length: int, dtype: Any) -> None:
    if name == "lerp" and dtype == np.int64:
        dtype = np.float16
    for shapes in shapes_of_three(length):
        given = [numbers(shape, np.float64, seed) for seed, shape in enumerate(shapes)]
        if dtype == np.int64:
            given = [np.nan_to_num(x) for x in given]
        operands = [np.asarray(x).astype(dtype) for x in given]
        if name == "where":
            operands[0] = np.asarray(operands[0] > 0)
        result = getattr(torch, name)(*(torch.from_numpy(x) for x in operands))
        wide = [x.astype(np.float32) if dtype == np.float16 else x for x in operands]
        expected = OF_THREE[name](*wide).astype(result.numpy().dtype)
        assert result.shape == expected.shape
        equal = np.array_equal(result.numpy(), expected, equal_nan=dtype != np.int64)
        assert equal, shapes


@pytest.mark.parametrize("length", LENGTHS)
def test_numbers_as_limits(length: int) -> None:
    """A limit that is NaN, limits that cross, zeros of both signs; in place, too."""
    x = np.concatenate([numbers((40 * length,), np.float32, 0), np.float32([0, -0.0, np.inf])])
    for low, high in [(-0.5, 0.5), (np.nan, 1.0), (-1.0, np.nan), (2.0, -2.0), (-np.inf, 0.0)]:
        expected = limited(x, np.float32(low), np.float32(high))
        assert np.array_equal(
            torch.clamp(torch.from_numpy(x), low, high).numpy(), expected, equal_nan=True
        )
        place = torch.from_numpy(x.copy())
        place.clamp_(low, high)
        assert np.array_equal(place.numpy(), expected, equal_nan=True)


@pytest.mark.parametrize("length", LENGTHS)
def test_an_operand_of_three_holds_the_result(length: int) -> None:
    rows, column = numbers((90, length), np.float32, 1), numbers((90, 1), np.float32, 2)
    place = torch.from_numpy(rows.copy())
    torch.lerp(place, place[:, :1].clone(), torch.from_numpy(column), out=place)
    assert np.array_equal(place.numpy(), between(rows, rows[:, :1], column), equal_nan=True)
    place = torch.from_numpy(rows.copy())
    torch.clamp(place, place[0, 0].clone(), torch.tensor(1.0), out=place)
    assert np.array_equal(place.numpy(), limited(rows, rows[0, 0], np.float32(1)), equal_nan=True)
