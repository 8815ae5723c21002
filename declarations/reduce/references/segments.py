"""References for segments.yaml."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
_JOIN: dict[str, Any] = {
    "sum": np.sum,
    "mean": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
}


def bounds(lengths: Any) -> Any:
    """Sums of the lengths before each segment, and of all."""
    zeros = np.zeros((*np.shape(lengths)[:-1], 1), int)
    return np.concatenate([zeros, np.cumsum(lengths, -1)], -1)


def segments_of(offsets: Any, n: int) -> Any:
    """The segment of each place, counted over all rows."""
    rows = np.asarray(offsets).reshape(-1, np.shape(offsets)[-1])
    count = rows.shape[1] - 1
    result = np.full((len(rows), n), count)
    for row, edges in enumerate(rows):
        for segment in range(count):
            result[row, edges[segment] : edges[segment + 1]] = segment
        result[row] += row * (count + 1)
    return result.reshape(-1)


def segments(data: Any, reduce: str, lengths: Any, offsets: Any, axis: int, initial: Any) -> Any:
    """Each segment reduced, one after the other."""
    if offsets is None:
        offsets = bounds(lengths)
    shape = np.shape(data)
    rows = np.reshape(data, (-1, *shape[axis:]))
    edges = np.reshape(offsets, (len(rows), -1))
    reduced = [
        [_one(row[begin:end], reduce, initial) for begin, end in pairwise(b)]
        for row, b in zip(rows, edges, strict=True)
    ]
    return np.reshape(reduced, (*shape[:axis], edges.shape[1] - 1, *shape[axis + 1 :]))


def _one(part: Any, reduce: str, initial: Any) -> Any:
    start = np.full((1, *part.shape[1:]), _START[reduce] if initial is None else initial)
    result = _JOIN[reduce](np.concatenate([start, part]), 0)
    if reduce != "mean":
        return result
    with np.errstate(all="ignore"):
        return result / (len(part) if initial is None else max(len(part), 1))


def joined_segments(data: Any, bounds: Any, reduce: str, initial: float) -> Any:
    """The segments of each row, reduced."""
    return segments(data, reduce, None, bounds, 1, initial)


def _pieces(bounds: Any) -> Any:
    """The row, the number and the places of each segment that has any."""
    for row, ends in enumerate(bounds):
        for segment, (first, last) in enumerate(pairwise(ends)):
            if last > first:
                yield row, segment, slice(first, last)


def shared(grad: Any, data: Any, extrema: Any, bounds: Any) -> Any:
    """Equal parts for all elements that are the extremum of their segment, or NaN."""
    result = np.zeros_like(data)
    for row, segment, places in _pieces(bounds):
        part = data[row, places]
        chosen = (part == extrema[row, segment]) | np.isnan(part)
        result[row, places] = chosen * grad[row, segment] / np.maximum(chosen.sum(0), 1)
    return result


def others(grad: Any, data: Any, bounds: Any, initial: float) -> Any:
    """For each element the product of the others of its segment, and of what that begins with."""
    result = np.zeros_like(data)
    for row, segment, places in _pieces(bounds):
        part = data[row, places]
        for place in range(len(part)):
            product = initial * np.delete(part, place, 0).prod(0)
            result[row, places.start + place] = grad[row, segment] * product
    return result


def others_moving(grad: Any, direction: Any, data: Any, bounds: Any, initial: float) -> Any:
    """How `others` change: sums of products from which two elements are left out."""
    result = np.zeros_like(data)
    for row, segment, places in _pieces(bounds):
        part, along = data[row, places], direction[row, places]
        for place in range(len(part)):
            for other in {*range(len(part))} - {place}:
                product = initial * np.delete(part, [place, other], 0).prod(0)
                result[row, places.start + place] += grad[row, segment] * along[other] * product
    return result


def sums(data: Any, bounds: Any) -> Any:
    """Of the segments of each row."""
    return np.stack(
        [
            np.stack([row[first : max(first, last)].sum(0) for first, last in pairwise(ends)])
            for row, ends in zip(data, bounds, strict=True)
        ]
    )


def sums_grad(grad: Any, bounds: Any, n: int) -> Any:
    """What stands for the segment of each place; 0 for those in none."""
    result = np.zeros((len(grad), n, grad.shape[2]), grad.dtype)
    for row, slopes, ends in zip(result, grad, bounds, strict=True):
        for slope, (first, last) in zip(slopes, pairwise(ends), strict=True):
            row[first:last] = slope
    return result
