"""What was written through overlapping geometries, and windows added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def places(shape: Sequence[int], stride: Sequence[int], offset: int) -> Array:
    """Where the elements of a geometry stand."""
    return np.asarray(np.tensordot(stride, np.indices(shape), 1) + offset)


def transfer(
    x: Array,
    stride: Sequence[int],
    offset: int,
    size: Sequence[int],
    to_stride: Sequence[int],
    to_offset: int,
    shared_once: bool,
) -> Array:
    """Sums of what stands in one place, read through another geometry; what several elements of
    a geometry share is divided among them.
    """
    written, read = places(x.shape, stride, offset), places(size, to_stride, to_offset)
    sums = np.bincount(written.ravel(), x.ravel(), 40)
    shared = np.bincount((written if shared_once else read).ravel(), minlength=40)
    return np.asarray((sums / np.maximum(shared, 1))[read])


def unfold_grad(grad: Array, size: Sequence[int], dimension: int, window: int, step: int) -> Array:
    """Windows of a dim, their elements the last dim of `grad`, each added where it lies."""
    result = np.zeros(size, grad.dtype)
    dim = dimension % len(size)
    along, windows = np.moveaxis(result, dim, -1), np.moveaxis(grad, dim, -2)
    for i in range(windows.shape[-2]):
        along[..., i * step : i * step + window] += windows[..., i, :]
    return result
