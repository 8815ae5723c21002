"""Histograms of points, by NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def edges_of(points: Array, which: int, count: int, ends: Sequence[float] | None) -> Array:
    """Edges of bins of equal width."""
    pair = None if ends is None else (ends[2 * which], ends[2 * which + 1])
    return np.histogram_bin_edges(points[..., which], count, pair)


def bins_of(numbers: Array, edges: Array) -> Array:
    """The bin of each number, found one by one."""
    found = np.full(numbers.shape, -1)
    for i in range(len(edges) - 1):
        last = numbers <= edges[i + 1] if i == len(edges) - 2 else numbers < edges[i + 1]
        found[(numbers >= edges[i]) & last] = i
    return found


def histogram(
    points: Array,
    bins: Any,
    ends: Sequence[float] | None,
    weight: Array | None,
    density: bool,
) -> tuple[Array, list[Array]]:
    """Counts or densities, and edges."""
    flat = points.reshape(-1, points.shape[-1])
    pairs = None if ends is None else list(zip(ends[::2], ends[1::2], strict=True))
    weights = None if weight is None else weight.reshape(-1)
    hist, edges = np.histogramdd(flat, bins, pairs, density=density, weights=weights)
    return hist, list(edges)


def counts(points: Array, edges: list[Array], weight: Array | None, density: bool) -> Array:
    """The first of these."""
    return histogram(points, edges, None, weight, density)[0]
