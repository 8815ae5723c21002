"""Reductions of masked elements, by NumPy's masked arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

Array = np.ndarray[Any, Any]
Dims = list[int] | None


def filled(x: Array, mask: Array | None, value: float) -> Array:
    """The elements that are left out replaced."""
    return x if mask is None else np.where(mask, x, value)


def _lines(x: Array, mask: Array | None, dim: Dims) -> tuple[Array, Array, tuple[int, ...]]:
    """Elements and mask with the reduced dims as one, the last; and the dims."""
    dims = tuple(range(x.ndim)) if not dim or x.ndim == 0 else tuple(d % x.ndim for d in dim)
    taken = np.broadcast_to(True if mask is None else mask, x.shape)
    ends = tuple(range(-len(dims), 0))
    moved = [np.moveaxis(a, dims, ends) for a in (x, taken)]
    rest = moved[0].shape[: x.ndim - len(dims)]
    return moved[0].reshape(*rest, -1), moved[1].reshape(*rest, -1), dims


def of_selected(
    function: Callable[[Array], Any], x: Array, mask: Array | None, none: float, dim: Dims,
    keepdim: bool,
) -> Array:  # fmt: skip
    """`function` of what is taken of each slice, `none` of nothing."""
    lines, taken, dims = _lines(x, mask, dim)
    found = np.empty(lines.shape[:-1], np.result_type(x, float(0)))
    for place in np.ndindex(*found.shape):
        kept = lines[place][taken[place]]
        found[place] = function(kept) if kept.size else none
    return np.expand_dims(found, dims) if keepdim else found


def place_of(
    function: Any, x: Array, mask: Array | None, value: float, dim: int | None, keepdim: bool
) -> Array:
    """A place among elements, where those that are left out are `value`."""
    return np.asarray(function(filled(x, mask, value), axis=dim, keepdims=keepdim))


def lower_median(x: Array, mask: Array | None, dim: int, keepdim: bool) -> Array:
    """The lower one of two."""
    return of_selected(lambda a: np.sort(a)[(a.size - 1) // 2], x, mask, np.nan, [dim], keepdim)


def lengths(x: Array, order: float | None, mask: Array | None, dim: Dims, keepdim: bool) -> Array:
    """NumPy's norms of vectors."""
    power = 2.0 if order is None else order
    return of_selected(lambda a: np.linalg.norm(a, power), x, mask, 0, dim, keepdim)


def log_sums(x: Array, mask: Array | None, dim: Dims, keepdim: bool) -> Array:
    """SciPy's logarithms of sums of exponentials."""
    return of_selected(sp.logsumexp, x, mask, -np.inf, dim, keepdim)


def variance_of(
    x: Array, mask: Array | None, dim: Dims, unbiased: bool | None, correction: float | None,
    keepdim: bool,
) -> Array:  # fmt: skip
    """NumPy's variance of what is taken."""
    less = (0 if unbiased is False else 1) if correction is None else correction
    return of_selected(lambda a: np.var(a, ddof=less), x, mask, np.nan, dim, keepdim)


def scaled(x: Array, order: float, dim: int, eps: float, mask: Array | None) -> Array:
    """What is taken, divided by its norm."""
    sizes = lengths(x, order, mask, [dim], True)
    return filled(x, mask, 0) / np.maximum(sizes, eps)
