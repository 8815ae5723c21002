"""Running totals, composed where a backend has no kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import _C


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_scans_take_memory_of_their_size(name: str) -> None:
    """A row longer than one round of passes covers."""
    x = flambeau.randn(70_001, dtype=flambeau.float64) / 1000 + (name == "cumprod")
    scan = getattr(flambeau, name)
    wanted = scan(x, 0)
    assert _C._prefer_composition(name, True)
    try:
        flambeau.reset_peak_memory_stats()
        before = flambeau.memory_stats()["allocated_bytes"]
        found = scan(x, 0)
        taken = flambeau.memory_stats()["peak_allocated_bytes"] - before
    finally:
        _C._prefer_composition(name, False)
    assert taken < 20 * 8 * x.numel()
    wanted, found = ([t] if isinstance(t, flambeau.Tensor) else list(t) for t in (wanted, found))
    for one, other in zip(found, wanted, strict=True):
        assert flambeau.allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_totals_of_many_rows(name: str, dtype: Any) -> None:
    """Squares of rows are turned in registers: whole ones, and what is left beside and below."""
    generator = np.random.default_rng(0)
    for rows, length in ((16, 32), (17, 33), (33, 40), (8, 16), (50, 100), (64, 31), (3, 70)):
        x = generator.uniform(0.9, 1.1, (rows, length)).astype(dtype)
        expected = getattr(np, name)(x.astype("float64"), 1).astype(dtype)
        tensor = flambeau.from_numpy(x)
        np.testing.assert_array_equal(getattr(tensor, name)(1).numpy(), expected)
        turned = flambeau.from_numpy(np.ascontiguousarray(x.T)).mT
        np.testing.assert_array_equal(getattr(turned, name)(1).numpy(), expected)
        getattr(tensor, name + "_")(1)
        np.testing.assert_array_equal(tensor.numpy(), expected)
