"""NumPy's histogram, for finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def histogram(
    x: Array,
    bins: int | Array,
    ends: tuple[float, float] | None = None,
    weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, Array]:
    """Counts and edges, of the dtype of the elements."""
    counts, edges = np.histogram(x, bins, ends, weights=weight, density=density)
    return counts.astype(x.dtype), edges.astype(x.dtype)
