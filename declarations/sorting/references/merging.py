"""Merging runs, element by element; the runs that are given are sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def merged(order: Array, x: Array, dim: int, by: int, rounds: int, descending: bool) -> Array:
    """Runs of `by` made longer by merging two at a time, so many times."""
    length = by << min(rounds, 40)
    signs = -np.asarray(x, float) if descending else np.asarray(x, float)
    found = np.moveaxis(np.array(order), dim, -1)
    rows = np.moveaxis(signs, dim, -1)
    flat = zip(found.reshape(-1, found.shape[-1]), rows.reshape(-1, rows.shape[-1]), strict=True)
    for row, keys in flat:
        for start in range(0, len(row), length):
            run = row[start : start + length]
            row[start : start + length] = sorted(run, key=lambda i: (keys[int(i)], i))
    return np.moveaxis(found, -1, dim)


def counted(
    before: Array, keys: Array, dim: int, by: int, step: int, asks: int, descending: bool
) -> Array:
    """Counts that grow by `step`, half of it and so on, as long as the last element counted is in
    the other run and stands before.
    """
    found = np.moveaxis(np.array(before), dim, -1)
    signs = -np.asarray(keys, float) if descending else np.asarray(keys, float)
    rows = np.moveaxis(signs, dim, -1)
    flat = zip(found.reshape(-1, found.shape[-1]), rows.reshape(-1, rows.shape[-1]), strict=True)
    for counts, row in flat:
        for i in range(len(row)):
            is_left = i // by % 2 == 0
            start = (i // by + (1 if is_left else -1)) * by
            other = row[start : start + by]
            for ask in range(asks):
                more = int(counts[i]) + (step >> ask)
                if step >> ask == 0 or more > len(other):
                    continue
                last = other[more - 1]
                counts[i] = more if last < row[i] or (not is_left and last == row[i]) else counts[i]
    return np.moveaxis(found, -1, dim)
