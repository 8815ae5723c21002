"""Undoing pooling, and pooling over windows drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def unpooled(x: Array, indices: Array, size: Sequence[int]) -> Array:
    """Elements put back, plane by plane."""
    lead = x.shape[: x.ndim - len(size)]
    result = np.zeros((*lead, int(np.prod(size))), x.dtype)
    for plane in np.ndindex(*lead):
        result[plane][indices[plane].ravel()] = x[plane].ravel()
    return result.reshape((*lead, *size))
