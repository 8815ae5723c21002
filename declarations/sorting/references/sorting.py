"""Runs of equal elements or slices."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def begins(x: Array, dim: int | None) -> Array:
    """Whether each element, or slice of `dim`, differs from the one before."""
    rows = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)
    first = np.ones(min(len(rows), 1), bool)
    return np.concatenate([first, (rows[1:] != rows[:-1]).any(1)])


def runs(x: Array, dim: int | None) -> Array:
    """The first of each run."""
    new = begins(x, dim)
    return np.asarray(x.ravel()[new] if dim is None else np.take(x, np.flatnonzero(new), dim))


def run_of_each(x: Array, dim: int | None) -> Array:
    """Which run each is in."""
    return (np.cumsum(begins(x, dim)) - 1).reshape(x.shape if dim is None else -1)


def run_lengths(x: Array, dim: int | None) -> Array:
    """How long each run is."""
    new = begins(x, dim)
    return np.diff(np.append(np.flatnonzero(new), len(new)))
