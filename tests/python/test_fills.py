"""Fills with one number: of short and long memory, of elements of every size, at every offset."""

from __future__ import annotations

import pytest

import flambeau

DTYPES = ["bool", "int8", "int16", "bfloat16", "int32", "float32", "int64", "complex64"]


@pytest.mark.parametrize("name", [*DTYPES, "float64", "complex128"])
def test_fill(name: str) -> None:
    dtype = getattr(flambeau, name)
    number = flambeau.tensor(-3).to(dtype)
    for size in (1, 7, 64, 1000, 4099, 70_001):
        for first in (0, 1, 3):
            whole = flambeau.zeros(size + 5, dtype=dtype)
            whole[first : first + size].fill_(number.item())
            assert (whole[first : first + size] == number).all()
            assert not whole[:first].any() and not whole[first + size :].any()
