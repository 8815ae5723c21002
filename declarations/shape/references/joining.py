"""Blocks, choices and images whose channels become pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def diagonal(blocks: Sequence[Array]) -> Array:
    """Matrices along a diagonal, zeros elsewhere."""
    rows = [
        [b if i == j else np.zeros((a.shape[0], b.shape[1]), b.dtype) for j, b in enumerate(blocks)]
        for i, a in enumerate(blocks)
    ]
    return np.block(rows)


def blocks_of(x: Array, heights: Sequence[int], widths: Sequence[int]) -> list[Array]:
    """The blocks along the diagonal."""
    rows, columns = np.cumsum([0, *heights]), np.cumsum([0, *widths])
    return [x[rows[i] : rows[i + 1], columns[i] : columns[i + 1]] for i in range(len(heights))]


def choices(count: int, r: int, with_replacement: bool) -> Array:
    """Rising sequences of `r` of `count` numbers, in rows."""
    every = np.indices((count,) * max(r, 1)).reshape(max(r, 1), -1).T
    return every[(np.diff(every) >= (0 if with_replacement else 1)).all(1)]


def pixel_shuffle(x: Array, r: int) -> Array:
    """[..., c r^2, h, w] -> [..., c, h r, w r]."""
    *batch, c, h, w = x.shape
    parts = x.reshape(-1, c // r // r, r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(*batch, c // r // r, h * r, w * r)


def pixel_unshuffle(x: Array, r: int) -> Array:
    """[..., c, h r, w r] -> [..., c r^2, h, w]."""
    *batch, c, h, w = x.shape
    parts = x.reshape(-1, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return parts.reshape(*batch, c * r * r, h // r, w // r)
