"""Bags of looked-up rows, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def folded(
    rows: Array, bag: Array, kept: Array, count: int, fold: Callable[[Array], Array]
) -> Array:
    """Each bag folded; zeros for empty ones."""
    result = np.zeros((count, rows.shape[1]), rows.dtype)
    for i in range(count):
        own = rows[(bag == i) & kept]
        if len(own):
            result[i] = fold(own)
    return result


def sums(rows: Array, bag: Array, kept: Array, count: int) -> Array:
    """Sums of bags."""
    return folded(rows, bag, kept, count, lambda own: np.asarray(own.sum(0)))


def means(rows: Array, bag: Array, kept: Array, count: int) -> Array:
    """Means of bags."""
    return folded(rows, bag, kept, count, lambda own: np.asarray(own.mean(0)))


def maxima(rows: Array, bag: Array, kept: Array, count: int) -> Array:
    """Largest elements of bags."""
    return folded(rows, bag, kept, count, lambda own: np.asarray(own.max(0)))


def bags(
    indices: Array,
    weight: Array,
    offsets: Array | None,
    mode: str,
    factors: Array | None,
    last: bool,
    padding: int | None,
) -> Array:
    """What each bag gives."""
    if offsets is None:
        count = len(indices)
        bag = np.repeat(np.arange(count), indices.shape[1])
    else:
        begins = offsets[:-1] if last else offsets
        count = len(begins)
        ends = np.append(begins[1:], indices.size)
        bag = np.repeat(np.arange(count), ends - begins)
    flat = indices.ravel()
    rows = weight[flat]
    if factors is not None:
        rows = rows * factors.reshape(-1, 1)
    kept = np.ones(flat.shape, bool) if padding is None else flat != padding % len(weight)
    fold = {"sum": sums, "mean": means, "max": maxima}[mode]
    return fold(rows, bag, kept, count)


def rows_of_maxima(rows: Array, flat: Array, bag: Array, kept: Array, bags: int) -> Array:
    """The row of the table that is the largest of a bag, for each feature; 0 of an empty bag."""
    found = np.zeros((bags, rows.shape[1]), np.int64)
    for i in range(bags):
        places = np.flatnonzero((bag == i) & kept)
        if len(places):
            found[i] = flat[places[np.argmax(rows[places], axis=0)]]
    return found


def origins(
    indices: Array, weight: Array, offsets: Array, mode: int, padding_idx: int | None
) -> tuple[Array, Array, Array]:
    """Of each index its bag, of each bag its size, and where its maxima are from."""
    bag = np.asarray([np.flatnonzero(offsets <= i)[-1] for i in range(len(indices))])
    kept = indices != (-1 if padding_idx is None else padding_idx % len(weight))
    sizes = np.asarray([np.sum((bag == i) & kept) for i in range(len(offsets))])
    maxima = rows_of_maxima(weight[indices], indices, bag, kept, len(offsets))
    return bag, sizes, maxima if mode == 2 else sizes
