"""Slices that an index sends to rows, many to one, against NumPy's ufunc.at: threads share out the
rows that are written, or their columns where rows are few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau

WAYS: dict[str, Any] = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@pytest.mark.parametrize("reduce", WAYS)
@pytest.mark.parametrize("shape", [(1, 9_000), (2, 5_000), (700, 70), (3, 40, 211)])
@pytest.mark.parametrize("transposed", [False, True])
def test_slices_meet(shape: tuple[int, ...], reduce: str, transposed: bool) -> None:
    generator = np.random.default_rng(0)
    begun, sources = (generator.integers(1, 3, shape).astype("float32") for _ in range(2))
    sources[generator.random(shape) < 0.01] = np.nan
    index = generator.integers(0, shape[-2], shape[-2])
    expected = np.moveaxis(begun, -2, 0).copy()
    WAYS[reduce].at(expected, index, np.moveaxis(sources, -2, 0))
    x, source = flambeau.from_numpy(begun.copy()), flambeau.from_numpy(sources)
    if transposed:
        x, source = x.mT.contiguous().mT, source.mT.contiguous().mT
    x.index_reduce_(-2, flambeau.from_numpy(index), source, reduce)
    np.testing.assert_array_equal(x.numpy(), np.moveaxis(expected, 0, -2))
