"""Interpolation to other sizes, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .pooling import bounds

Array = np.ndarray[Any, Any]
Table = tuple[Array, Array]


def turned(table: Table) -> Table:
    """The taps in rows."""
    return table[0].T, table[1].T


def step_of(length: int, size: int, align: bool, scale: float | None) -> float:
    """The distance between the sources of neighbours."""
    if align:
        return (length - 1) / (size - 1) if size > 1 else 0.0
    return 1 / scale if scale is not None and scale > 0 else length / size


def source(i: int, step: float, align: bool) -> float:
    """Where a place comes from."""
    return i * step if align else (i + 0.5) * step - 0.5


def sources(length: int, size: int, align: bool, scale: float | None) -> Array:
    """Where all places come from."""
    step = step_of(length, size, align, scale)
    return np.array([source(i, step, align) for i in range(size)])


def cubic(x: Array, a: float) -> Array:
    """Weights by distance."""
    d = np.abs(x)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.asarray(np.where(d <= 1, near, np.where(d < 2, far, 0)))


def linear(length: int, size: int, align: bool, scale: float | None) -> Table:
    """Two elements for each place."""
    places, weights = np.zeros((size, 2), int), np.zeros((size, 2))
    step = step_of(length, size, align, scale)
    for i in range(size):
        at = max(source(i, step, align), 0.0)
        low = min(math.floor(at), length - 1)
        part = min(max(at - low, 0.0), 1.0)
        places[i] = low, min(low + 1, length - 1)
        weights[i] = 1 - part, part
    return places, weights


def cubic_table(length: int, size: int, align: bool, scale: float | None) -> Table:
    """Four elements for each place."""
    places, weights = np.zeros((size, 4), int), np.zeros((size, 4))
    step = step_of(length, size, align, scale)
    for i in range(size):
        at = source(i, step, align)
        near = math.floor(at) + np.arange(-1, 3)
        places[i] = np.clip(near, 0, length - 1)
        weights[i] = cubic(at - near, -0.75)
    return places, weights


def antialias(length: int, size: int, align: bool, scale: float | None, is_cubic: bool) -> Table:
    """All elements in reach of each place."""
    step = step_of(length, size, align, scale)
    stretch = max(step, 1.0)
    reach = stretch * (2 if is_cubic else 1)
    taps = 2 * math.ceil(reach) + 1
    places, weights = np.zeros((size, taps), int), np.zeros((size, taps))
    for i in range(size):
        centre = (i + 0.5) * step
        first = max(math.floor(centre - reach + 0.5), 0)
        end = min(math.floor(centre + reach + 0.5), length)
        near = first + np.arange(taps)
        distance = (near - centre + 0.5) / stretch
        counts = cubic(distance, -0.5) if is_cubic else np.maximum(1 - np.abs(distance), 0)
        counts = np.where(near < end, counts, 0)
        places[i], weights[i] = np.minimum(near, length - 1), counts / counts.sum()
    return places, weights


def fixed(weights: Array) -> Array:
    """Rounded to 16 bits with one exponent."""
    power = max(p for p in range(23) if math.floor(0.5 + weights.max() * 2**p) < 2**15)
    scaled = weights * 2.0**power
    return np.asarray(np.trunc(scaled + np.where(scaled < 0, -0.5, 0.5)) / 2.0**power)


def nearest(length: int, size: int, scale: float | None, exact: bool) -> Array:
    """One element for each place."""
    step = np.float32(step_of(length, size, False, scale))
    spots = np.arange(size, dtype=np.float32) + np.float32(0.5 if exact else 0)
    return np.asarray(np.minimum(np.floor(spots * step), length - 1).astype(int))


def table_of(
    length: int, size: int, mode: str, align: bool, scale: float | None, smooth: bool
) -> Table:
    """The elements of each place in a mode."""
    if smooth:
        return antialias(length, size, align, scale, mode == "bicubic")
    if mode == "bicubic":
        return cubic_table(length, size, align, scale)
    return linear(length, size, align, scale)


def resized(
    x: Array, dim: int, size: int, mode: str, align: bool, scale: float | None, smooth: bool
) -> Array:
    """One dim."""
    length = x.shape[dim]
    if mode.startswith("nearest"):
        return np.asarray(x.take(nearest(length, size, scale, mode == "nearest-exact"), dim))
    places, weights = table_of(length, size, mode, align, scale, smooth)
    if x.dtype.kind in "iu":
        weights = fixed(weights)
    moved = np.moveaxis(x, dim, -1)
    sums = np.moveaxis((moved[..., places] * weights).sum(-1), -1, dim)
    # Bytes are rounded after each dim.
    rounded = np.clip(np.floor(sums + 0.5), 0, 255)
    return np.asarray(rounded.astype(x.dtype) if x.dtype.kind in "iu" else sums)


def area(x: Array, sizes: Sequence[int]) -> Array:
    """Means of parts."""
    fold: Callable[[Array], Array] = lambda part: np.asarray(part.mean(-1))  # noqa: E731
    for axis, size in enumerate(reversed(sizes)):
        moved = np.moveaxis(x, -1 - axis, -1)
        parts = [fold(moved[..., a:b]) for a, b in bounds(moved.shape[-1], size)]
        x = np.moveaxis(np.stack(parts, -1), -1, -1 - axis)
    return x


def spatially(
    x: Array,
    first: int,
    sizes: Sequence[int],
    mode: str,
    align: bool,
    scales: Sequence[float] | None,
    smooth: bool,
) -> Array:
    """Dims from the first on, the last of them first."""
    for i in reversed(range(len(sizes))):
        scale = None if scales is None else scales[min(i, len(scales) - 1)]
        x = resized(x, first + i, sizes[i], mode, align, scale, smooth)
    return x


def interpolated(
    x: Array,
    sizes: Sequence[int],
    mode: str,
    align: bool,
    scales: Sequence[float] | None,
    smooth: bool,
) -> Array:
    """All spatial dims."""
    if mode == "area":
        return area(x, sizes)
    return spatially(x, 2, sizes, mode, align, scales, smooth)


def interpolate(
    x: Array,
    size: Sequence[int] | int | None,
    factor: Sequence[float] | float | None,
    mode: str,
    align: bool | None,
    recompute: bool | None,
    smooth: bool,
) -> Array:
    """The same with the sizes that the arguments give."""
    rank = x.ndim - 2
    scales = [factor] if isinstance(factor, int | float) else factor
    if size is not None:
        given = [size] if isinstance(size, int) else list(size)
        sizes = given * rank if len(given) == 1 else given
        scales = None
    else:
        assert scales is not None
        each = list(scales) * rank if len(scales) == 1 else list(scales)
        sizes = [math.floor(n * s) for n, s in zip(x.shape[2:], each, strict=True)]
    known = None if recompute else scales
    return interpolated(x, sizes, mode, bool(align), known, smooth)
