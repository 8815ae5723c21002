"""Pooling of volumes, window by window."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .pooling import bounds
from .volume_convolution import Triple, last, triple

Array = np.ndarray[Any, Any]
Place = tuple[int, ...]


def windows(
    x: Array,
    kernel: Triple,
    stride: Triple | None,
    padding: Triple,
    dilation: Triple,
    outside: float,
) -> Array:
    """The elements of each window, in the last three dims."""
    k, p, d = triple(kernel), triple(padding), triple(dilation)
    s = k if stride is None else triple(stride)
    whole = np.pad(x, [(0, 0)] * (x.ndim - 3) + [(n, n) for n in p], constant_values=outside)
    reach = [a * (b - 1) + 1 for a, b in zip(d, k, strict=True)]
    found = np.lib.stride_tricks.sliding_window_view(whole, reach, (-3, -2, -1))
    steps = tuple(slice(None, None, n) for n in (*s, *d))
    return np.asarray(found[last(*steps)])


def max_pool(
    x: Array, kernel: Triple, stride: Triple | None, padding: Triple, dilation: Triple
) -> Array:
    """The largest elements."""
    return np.asarray(windows(x, kernel, stride, padding, dilation, -np.inf).max((-1, -2, -3)))


def max_pool_places(
    x: Array, kernel: Triple, stride: Triple | None, padding: Triple, dilation: Triple
) -> tuple[Array, Array]:
    """The largest elements and where they stand."""
    seen = windows(x, kernel, stride, padding, dilation, -np.inf)
    numbers = np.broadcast_to(np.arange(np.prod(x.shape[-3:])).reshape(x.shape[-3:]), x.shape)
    spots = windows(numbers, kernel, stride, padding, dilation, -1)
    flat = seen.reshape((*seen.shape[:-3], -1))
    chosen = flat.argmax(-1)[..., None]
    places = np.take_along_axis(spots.reshape(flat.shape), chosen, -1)[..., 0]
    return np.take_along_axis(flat, chosen, -1)[..., 0], places


def places(planes: Array, layers: Array, depth: int, area: int) -> Array:
    """Where the largest elements of the largest planes stand."""
    width = int(np.prod(planes.shape[1:]))
    inner = planes.reshape(len(layers), depth * width)
    chosen = layers.reshape(len(layers), -1)
    return np.asarray(chosen // width * area + np.take_along_axis(inner, chosen, 1))


def avg_pool(
    x: Array, kernel: Triple, stride: Triple | None, padding: Triple, divisor: int | None
) -> Array:
    """Sums, zeros outside counted, divided by the size of a window or another number."""
    sums = windows(x, kernel, stride, padding, 1, 0).sum((-1, -2, -3))
    return np.asarray(sums / (divisor or np.prod(triple(kernel))))


def parts(x: Array, sizes: Triple) -> Iterator[tuple[Place, tuple[Any, ...]]]:
    """Places in the result, and what of the volume is seen there."""
    wanted = triple(sizes)
    spans = [bounds(n, m) for n, m in zip(x.shape[-3:], wanted, strict=True)]
    for place in itertools.product(*map(range, wanted)):
        yield place, tuple(slice(*span[i]) for span, i in zip(spans, place, strict=True))


def adaptive(x: Array, sizes: Triple, fold: Callable[..., Array]) -> Array:
    """Each part folded."""
    result = np.zeros((*x.shape[:-3], *triple(sizes)), x.dtype)
    for place, part in parts(x, sizes):
        result[last(*place)] = fold(x[last(*part)], axis=(-3, -2, -1))
    return result


def adaptive_max(x: Array, sizes: Triple) -> tuple[Array, Array]:
    """The largest element of each part and where it stands."""
    numbers = np.arange(int(np.prod(x.shape[-3:]))).reshape(x.shape[-3:])
    result = np.zeros((*x.shape[:-3], *triple(sizes)), x.dtype)
    spots = np.zeros(result.shape, np.int64)
    for place, part in parts(x, sizes):
        seen = x[last(*part)].reshape((*x.shape[:-3], -1))
        chosen = seen.argmax(-1)
        result[last(*place)] = np.take_along_axis(seen, chosen[..., None], -1)[..., 0]
        spots[last(*place)] = numbers[last(*part)].ravel()[chosen]
    return result, spots
