"""Writing by index, as products with rows of the unit matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def index_add(x: Array, dim: int, index: Array, source: Array, alpha: float) -> Array:
    """`alpha` times each slice of the source is added to the slice that the index names."""
    if x.ndim == 0:
        return np.asarray(x + alpha * source)
    places = np.eye(x.shape[dim])[index].T
    return np.asarray(
        x + alpha * np.swapaxes(np.tensordot(places, np.swapaxes(source, dim, 0), 1), 0, dim)
    )


def index_copy(x: Array, index: Array, source: Array) -> Array:
    """Slices of dim 0; the index names each once."""
    if x.ndim == 0:
        return np.reshape(source, x.shape)
    source = np.atleast_1d(source)
    rows = [source[list(index).index(i)] if i in index else x[i] for i in range(x.shape[0])]
    return np.stack(rows)


def index_fill(x: Array, index: Array, value: float) -> Array:
    """Slices of dim 0."""
    if x.ndim == 0:
        return np.full_like(x, value)
    chosen = index % x.shape[0]
    return np.stack([np.full_like(x[i], value) if i in chosen else x[i] for i in range(x.shape[0])])


def fill_diagonal(x: Array, value: float, wrap: bool) -> Array:
    """x with a diagonal of one value."""
    found = np.array(x)
    np.fill_diagonal(found, value, wrap)
    return found
