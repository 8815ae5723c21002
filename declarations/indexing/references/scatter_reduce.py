"""Combining what meets at a place, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def combined(
    x: Array, dim: int, index: Array, src: Array, meet: Callable[[Any, Any], Any]
) -> Array:
    """x with meet(x, s) for every s of src at the place that the index gives it."""
    found = np.array(x)
    for place in np.ndindex(*index.shape):
        to = list(place)
        to[dim] = index[place]
        found[tuple(to)] = meet(found[tuple(to)], src[place])
    return found


def arrivals(x: Array, dim: int, index: Array) -> Array:
    """Which element of the index, column, leads to which place of x, row."""
    places = np.arange(x.size).reshape(x.shape)
    sent = np.take_along_axis(places, index, dim).reshape(-1)
    return np.asarray(places.reshape(-1, 1) == sent)


def averaged(x: Array, dim: int, index: Array, src: Array, include_self: bool) -> Array:
    """The mean of what meets at each place."""
    count = combined(np.full(x.shape, int(include_self)), dim, index, src, lambda a, _: a + 1)
    begun = x if include_self else combined(x, dim, index, src, lambda a, _: 0)
    total, count = combined(begun, dim, index, src, np.add), np.maximum(count, 1)
    return np.asarray(total // count if x.dtype.kind in "iu" else total / count)


def reduced(x: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool) -> Array:
    """What `reduce` names, of src and where it counts of x."""
    if reduce == "mean":
        return averaged(x, dim, index, src, include_self)
    ways: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
        "sum": (np.add, 0), "prod": (np.multiply, 1), "amax": (np.maximum, -np.inf),
        "amin": (np.minimum, np.inf),
    }  # fmt: skip
    meet, start = ways[reduce]
    begun = x if include_self else combined(x, dim, index, src, lambda a, _: start)
    return combined(begun, dim, index, src, meet)
