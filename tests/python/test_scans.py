"""Running totals, composed where a backend has no kernel."""

from __future__ import annotations

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
