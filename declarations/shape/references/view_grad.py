"""What was written through overlapping geometries."""

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
