"""Searches in sorted rows: lengths at which trees of keys gain a level, all dtypes, both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau

LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 64, 65, 255, 256, 257, 4096, 4097, 9000)
DTYPES = ("float32", "float64", "int64", "int32", "uint8", "float16")


def limits(dtype: str) -> list[Any]:
    """Values at the ends of what a dtype holds."""
    if np.dtype(dtype).kind == "f":
        return [-np.inf, np.inf, np.nan, 0.0, -0.0]
    return [np.iinfo(dtype).min, np.iinfo(dtype).max]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_numpy(dtype: str, side: Any) -> None:
    generator = np.random.default_rng(0)
    for length in LENGTHS:
        # With equal elements, and with what is looked for between and beside them.
        row = np.sort(generator.integers(0, 2 * length, length).astype(dtype))
        row[-1:] = limits(dtype)[1]
        wanted = np.concatenate([generator.integers(0, 200, length).astype(dtype), row])
        wanted[: len(limits(dtype))] = limits(dtype)[: len(wanted)]
        found = flambeau.searchsorted(
            flambeau.from_numpy(row), flambeau.from_numpy(wanted), side=side
        )
        np.testing.assert_array_equal(
            found.numpy(), np.searchsorted(row, wanted, side), f"{length}"
        )


@pytest.mark.parametrize("length", [3, 16, 40, 300])
def test_a_row_for_each_row(length: int) -> None:
    generator = np.random.default_rng(1)
    rows = np.sort(generator.standard_normal((11, length)).astype("float32"))
    wanted = generator.standard_normal((11, 2 * length + 1)).astype("float32")
    for right in (False, True):
        found = flambeau.searchsorted(
            flambeau.from_numpy(rows), flambeau.from_numpy(wanted), right=right, out_int32=True
        )
        side: Any = "right" if right else "left"
        expected = [np.searchsorted(r, w, side) for r, w in zip(rows, wanted, strict=True)]
        assert found.dtype is flambeau.int32
        np.testing.assert_array_equal(found.numpy(), expected)


def test_without_elements() -> None:
    nothing = flambeau.empty(0)
    assert flambeau.bucketize(nothing, flambeau.ones(3)).tolist() == []
    assert flambeau.bucketize(flambeau.ones(40), nothing).tolist() == [0] * 40
    assert flambeau.searchsorted(flambeau.empty(4, 0), flambeau.ones(4, 20)).sum() == 0
