"""Writing along a dim by an index for each element, through rows of the unit matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def chosen(x: Array, dim: int, index: Array) -> Array:
    """1 where an index names a place: [..., indices, places]."""
    return np.eye(x.shape[dim])[np.swapaxes(index, dim, -1)]


def scatter(x: Array, dim: int, index: Array, src: Array) -> Array:
    """The first of the elements that the index sends to a place, where there is any."""
    if x.ndim == 0:
        return np.reshape(src[:1] if src.ndim else src, [])
    places, src = chosen(x, dim, index), np.swapaxes(src, dim, -1)
    sent = np.take_along_axis(src, np.argmax(places, -2), -1)
    return np.swapaxes(np.where(np.any(places, -2), sent, np.swapaxes(x, dim, -1)), dim, -1)


def scatter_add(x: Array, dim: int, index: Array, src: Array) -> Array:
    """The sum of the elements that the index sends to a place is added to it."""
    if x.ndim == 0:
        return np.asarray(x + np.sum(src))
    sums = np.einsum("...jk,...j->...k", chosen(x, dim, index), np.swapaxes(src, dim, -1))
    return np.asarray(x + np.swapaxes(sums, dim, -1))


def source_grad(grad: Array, dim: int, index: Array, size: Sequence[int]) -> Array:
    """Of what was scattered, of which a part of shape `size` was read."""
    taken = np.take_along_axis(np.atleast_1d(grad), np.atleast_1d(index), dim)
    rest = [(0, s - i) for s, i in zip(size or [1], index.shape or [1], strict=True)]
    return np.pad(taken, rest).reshape(size)


def put(x: Array, index: Array, source: Array, accumulate: bool) -> Array:
    """Elements at places in row-major order, in a copy."""
    flat = x.copy().ravel()
    (np.add.at if accumulate else np.put)(flat, index.ravel(), source.ravel())
    return flat.reshape(x.shape)
