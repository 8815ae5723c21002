"""Rows that meet one element each, and tensors that meet one: the loops that read it once."""

from __future__ import annotations

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
