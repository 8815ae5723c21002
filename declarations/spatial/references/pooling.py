"""Pooling over windows, and over as many parts as are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .convolution import Array, Pair, pair, windows


def seen(
    x: Array, kernel: Pair, stride: Pair | None, padding: Pair, dilation: Pair, outside: float
) -> Array:
    """The elements of each window, in the last two dims."""
    p, q = pair(padding)
    widths = [(0, 0)] * (x.ndim - 2) + [(p, p), (q, q)]
    whole = np.pad(x, widths, constant_values=outside)
    return windows(whole, pair(kernel), kernel if stride is None else stride, dilation)


def max_pool(x: Array, kernel: Pair, stride: Pair | None, padding: Pair, dilation: Pair) -> Array:
    """The largest elements."""
    return np.asarray(seen(x, kernel, stride, padding, dilation, -np.inf).max((-1, -2)))


def avg_pool(
    x: Array, kernel: Pair, stride: Pair | None, padding: Pair, divisor: int | None
) -> Array:
    """Sums, zeros outside counted, divided by the size of a window or another number."""
    sums = seen(x, kernel, stride, padding, 1, 0).sum((-1, -2))
    return np.asarray(sums / (divisor or np.prod(pair(kernel))))


def bounds(size: int, parts: int) -> list[tuple[int, int]]:
    """Where parts of about equal size, which may overlap, begin and end."""
    return [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]


def adaptive(x: Array, parts: int, fold: Callable[[Array], Array]) -> Array:
    """Over parts of the last dim."""
    return np.stack([fold(x[..., a:b]) for a, b in bounds(x.shape[-1], parts)], -1)


def adaptive_max(x: Array, parts: int) -> Array:
    """The largest element of each part of the last dim."""
    return adaptive(x, parts, lambda part: np.asarray(part.max(-1)))


def adaptive_argmax(x: Array, parts: int) -> Array:
    """Where it stands."""
    found = [x[..., a:b].argmax(-1) + a for a, b in bounds(x.shape[-1], parts)]
    return np.stack(found, -1)


def adaptive_mean(x: Array, sizes: Sequence[int]) -> Array:
    """The mean of each part of the last dims."""
    if len(sizes) == 2:
        x = np.swapaxes(adaptive_mean(np.swapaxes(x, -1, -2), sizes[:1]), -1, -2)
    return adaptive(x, sizes[-1], lambda part: np.asarray(part.mean(-1)))


def adaptive_places(size: int, parts: int) -> Array:
    """The elements of each part, the last one again where it has fewer."""
    longest = np.arange(-(-size // parts) + 1)
    return np.stack([np.minimum(a + longest, b - 1) for a, b in bounds(size, parts)])


def adaptive_weights(size: int, parts: int) -> Array:
    """1 divided by the size of a part where an element is in it."""
    places = np.arange(size)
    return np.array([((places >= a) & (places < b)) / (b - a) for a, b in bounds(size, parts)])


def at(x: Array, indices: Array) -> Array:
    """The elements of each plane at some indices; 0 at negative ones."""
    flat, places = x.reshape(*x.shape[:-2], -1), indices.reshape(*indices.shape[:-2], -1)
    found = np.take_along_axis(flat, places, -1).reshape(indices.shape)
    return np.where(indices < 0, 0, found)
