"""Fourier transforms by NumPy's, in the terms of the entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any


def c2c(x: Array, dims: Sequence[int], forward: bool) -> Array:
    """The sums over dims, not divided in either direction."""
    if forward:
        return np.fft.fftn(x, axes=dims)
    return np.fft.ifftn(x, axes=dims, norm="forward")


def sized(x: Array, dims: Sequence[int], sizes: Sequence[int]) -> Array:
    """Dims cut off, or followed by zeros."""
    for dim, size in zip(dims, sizes, strict=True):
        kept = np.take(x, range(min(size, x.shape[dim])), dim)
        rest = [(0, 0)] * x.ndim
        rest[dim] = (0, size - kept.shape[dim])
        x = np.pad(kept, rest)
    return x


def half_weights(x: Array, dim: int, n: int, inner: float) -> Array:
    """1 where a number stands once in a whole transform, along a dim."""
    k = np.arange(x.shape[dim])
    shape = [-1 if i == dim % x.ndim else 1 for i in range(x.ndim)]
    return np.where((k == 0) | (2 * k == n), 1.0, inner).reshape(shape)
