"""Copies with a part replaced, by NumPy's indexing and stride tricks."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def placed(x: Array, src: Array, places: Array) -> Array:
    """x with x.flat[places] = src."""
    found = np.array(x)
    found.flat[places] = src
    return found


def slice_scatter(
    x: Array, src: Array, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    """x with x[..., start:end:step, ...] = src."""
    found = np.array(x)
    np.moveaxis(found, dim, 0)[start:end:step] = np.moveaxis(src, dim, 0)
    return found


def diagonal_scatter(x: Array, src: Array, offset: int, dim1: int, dim2: int) -> Array:
    """x with a diagonal replaced."""
    found = np.array(x)
    moved = np.moveaxis(found, (dim1, dim2), (-2, -1))
    places = np.arange(src.shape[-1])
    moved[..., places + max(-offset, 0), places + max(offset, 0)] = src
    return found


def as_strided_scatter(
    x: Array, src: Array, size: list[int], stride: list[int], storage_offset: int | None
) -> Array:
    """x with elements at given distances of each other, counted by rows, replaced."""
    found = np.array(x, order="C")
    places = np.lib.stride_tricks.as_strided(
        found.ravel()[storage_offset or 0 :], size, [step * found.itemsize for step in stride]
    )
    places[...] = src
    return found
