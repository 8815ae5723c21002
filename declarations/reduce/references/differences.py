"""Integrals of sampled functions, place by place."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _areas(y: Array, x: Array, dim: int) -> Array:
    """Of the trapezoids between neighbours, the dim last."""
    heights = np.moveaxis(y, dim, -1)
    places = x if x.ndim == 1 else np.moveaxis(np.broadcast_to(x, y.shape), dim, -1)
    return np.asarray((heights[..., 1:] + heights[..., :-1]) / 2 * np.diff(places))


def trapezoid(y: Array, x: Array, dim: int) -> Array:
    """The sum of the areas."""
    return np.asarray(np.sum(_areas(y, x, dim), -1))


def cumulative_trapezoid(y: Array, x: Array, dim: int) -> Array:
    """Their running sums."""
    return np.asarray(np.moveaxis(np.cumsum(_areas(y, x, dim), -1), -1, dim))


def gradients(x: Array, spacing: Any, dim: list[int] | None, edge_order: int) -> list[Array]:
    """NumPy's gradient, as a list whatever the number of dims."""
    dims = list(range(x.ndim)) if dim is None else dim
    steps = spacing if isinstance(spacing, list | tuple) else [spacing] * len(dims)
    slopes: Any = np.gradient
    pairs = zip(dims, steps, strict=True)
    return [slopes(x, step, axis=d, edge_order=edge_order) for d, step in pairs]
