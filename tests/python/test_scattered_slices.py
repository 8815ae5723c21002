"""Slices that an index sends to rows, many to one, against NumPy's ufunc.at: threads share out the
rows that are written, or their columns where rows are few."""

from __future__ import annotations

from collections.abc import Callable
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


def test_slices_of_the_same_memory() -> None:
    """What is read is what was there before anything is written."""
    places = [1, 2, 3]
    index, before = flambeau.tensor(places), np.arange(6.0)
    placed, added = before.copy(), before.copy()
    placed[places] = before[:3]
    added[places] += before[:3]
    writes: dict[str, Callable[[Any], Any]] = {
        "index_put_": lambda x: x.index_put_([index], x[:3]),
        "put_": lambda x: x.put_(index, x[:3]),
        "index_copy_": lambda x: x.index_copy_(0, index, x[:3]),
        "scatter_": lambda x: x.scatter_(0, index, x[:3]),
    }
    sums: dict[str, Callable[[Any], Any]] = {
        "index_add_": lambda x: x.index_add_(0, index, x[:3]),
        "scatter_add_": lambda x: x.scatter_add_(0, index, x[:3]),
    }
    for expected, functions in ((placed, writes), (added, sums)):
        for name, write in functions.items():
            x = flambeau.from_numpy(before.copy())
            write(x)
            np.testing.assert_array_equal(x.numpy(), expected, name)
    mask = flambeau.tensor([True, True, False, True])
    mask[1:][mask[:-1]] = False
    assert mask.tolist() == [True, False, False, True]
