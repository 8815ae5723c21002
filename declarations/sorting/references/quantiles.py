"""Medians and most frequent elements, slice by slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _places(
    x: Array, dim: int, keepdim: bool, place: Callable[[Array], int]
) -> tuple[Array, Array]:
    """The element of each slice at its place, and the places."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    found = np.expand_dims(np.apply_along_axis(place, dim, x), dim)
    values = np.take_along_axis(x, found, dim)
    return (values, found) if keepdim else (np.squeeze(values, dim), np.squeeze(found, dim))


def quantile(
    x: Array, q: Array, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Array:
    """NumPy's, with or without NaN."""
    found: Any = np.nanquantile if skip_nan else np.quantile
    return np.asarray(found(x, q, axis=dim, keepdims=keepdim, method=interpolation))


def nanmedian(x: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The lower middle of what is not NaN."""

    def middle(row: Array) -> int:
        count = int(np.sum(~np.isnan(row)))
        return int(np.argsort(row, kind="stable")[max(count - 1, 0) // 2])

    return _places(x, dim, keepdim, middle)


def mode(x: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The last place of the smallest of the most frequent elements."""

    def last(row: Array) -> int:
        _, which, counts = np.unique(row, return_inverse=True, return_counts=True)
        return int(np.flatnonzero(which == np.argmax(counts))[-1])

    return _places(x, dim, keepdim, last)
