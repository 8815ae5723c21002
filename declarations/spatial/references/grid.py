"""Reading images along grids, position by position."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .resampling import cubic

Array = np.ndarray[Any, Any]


def inside(x: Array, length: int, padding: str, align: bool) -> Array:
    """Positions brought back inside."""
    if padding == "zeros":
        return x
    if padding == "reflection":
        low, high = (0.0, length - 1.0) if align else (-0.5, length - 0.5)
        x = mirrored(x, low, high - low) if high > low else np.zeros_like(x)
    return np.clip(x, 0, length - 1)


def mirrored(x: Array, low: float, span: float) -> Array:
    """Positions mirrored at both ends."""
    period = np.mod(x - low, 2 * span)
    return np.asarray(low + np.where(period > span, 2 * span - period, period))


def spot(x: Array, length: float, align: bool) -> Array:
    """Positions counted in elements."""
    return (x + 1) / 2 * (length - 1) if align else ((x + 1) * length - 1) / 2


def near(at: Array, around: Array, last: float) -> Array:
    """Elements behind positions."""
    found = np.floor(at) + around
    return np.asarray(np.where((found >= 0) & (found <= last), found, 0))


def weight(at: Array, around: Array, last: float) -> Array:
    """What the elements before and behind a position count."""
    found = np.floor(at) + around
    counts = 1 - np.abs(at - found)
    return np.asarray(np.where((found >= 0) & (found <= last), counts, 0))


def there(places: Array, weights: Array, length: int, dtype: Any) -> tuple[Array, Array]:
    """Places that exist; others count nothing."""
    inside = (places >= 0) & (places < length)
    return np.where(inside, places, 0).astype(int), np.where(inside, weights, 0).astype(dtype)


def linear(at: Array, length: int) -> tuple[Array, Array]:
    """Two elements for each position."""
    low = np.floor(at)
    weights = np.stack([1 - (at - low), at - low], 1)
    return there(np.stack([low, low + 1], 1), weights, length, at.dtype)


def nearest(at: Array, length: int) -> tuple[Array, Array]:
    """One element for each position."""
    return there(np.round(at)[:, None], np.ones((len(at), 1, at.shape[1])), length, at.dtype)


def cubic_taps(at: Array, length: int, padding: str, align: bool) -> tuple[Array, Array]:
    """Four elements for each position."""
    around = np.floor(at)[:, None] + np.arange(-1, 3)[:, None]
    weights = cubic(at[:, None] - around, -0.75)
    return there(inside(around, length, padding, align), weights, length, at.dtype)


def taps(x: Array, length: int, mode: str, padding: str, align: bool) -> tuple[Array, Array]:
    """The elements around each position."""
    at = spot(x, length, align)
    if mode == "bicubic":
        return cubic_taps(at, length, padding, align)
    at = inside(at, length, padding, align)
    return nearest(at, length) if mode == "nearest" else linear(at, length)


def crossed(rows: Array, a: Array, columns: Array, b: Array, width: int) -> tuple[Array, Array]:
    """The elements of two dims, crossed."""
    shape = (len(rows), -1, rows.shape[2])
    places = rows[:, :, None] * width + columns[:, None]
    return places.reshape(shape), (a[:, :, None] * b[:, None]).reshape(shape)


def space_taps(
    points: Array, size: Sequence[int], mode: str, padding: str, align: bool
) -> tuple[Array, Array]:
    """The elements around positions in all dims."""
    found = [
        taps(points[..., len(size) - 1 - d], n, mode, padding, align) for d, n in enumerate(size)
    ]
    places, weights = found[0]
    for (near, counts), n in zip(found[1:], size[1:], strict=True):
        places, weights = crossed(places, weights, near, counts, n)
    return places, weights


def grid_sample(x: Array, grid: Array, mode: str, padding: str, align: bool | None) -> Array:
    """Position by position."""
    size = x.shape[2:]
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    for place in itertools.product(*map(range, (grid.shape[0], *grid.shape[1:-1]))):
        per_dim = [
            taps(
                grid[place][None, len(size) - 1 - d : len(size) - d], n, mode, padding, bool(align)
            )
            for d, n in enumerate(size)
        ]
        choices = [
            list(zip(near[0, :, 0], counts[0, :, 0], strict=True)) for near, counts in per_dim
        ]
        for chosen in itertools.product(*choices):
            weight = math.prod(w for _, w in chosen)
            where: Any = (place[0], slice(None), *(int(i) for i, _ in chosen))
            there: Any = (place[0], slice(None), *place[1:])
            result[there] += weight * x[where]
    return result


def line(count: int, align: bool | None) -> Array:
    """Positions of the elements of a dim."""
    if align:
        return np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
    return (2 * np.arange(count) + 1) / count - 1


def affine_grid(theta: Array, size: Sequence[int], align: bool | None) -> Array:
    """Every position mapped."""
    axes = np.meshgrid(*(line(n, align) for n in size[2:]), indexing="ij")
    points = np.stack([*reversed(axes), np.ones(list(size[2:]))], -1)
    return np.asarray(np.einsum("nij,...j->n...i", theta, points)).astype(theta.dtype)
