"""References for distance.yaml."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def sums_of_pairs(values: Array, n: int) -> Array:
    """What is said of each pair of rows, added to the first and taken from the second."""
    result = np.zeros((n, values.shape[1]), values.dtype)
    for (i, j), value in zip(combinations(range(n), 2), values, strict=True):
        result[i] += value
        result[j] -= value
    return result


def pdist_grad(grad: Array, x: Array, lengths: Array, p: float) -> Array:
    """The slopes of all norms of differences, weighed."""
    away = np.concatenate([x[i] - x[i + 1 :] for i in range(len(x))])
    slopes = np.sign(away) * (abs(away) / lengths[:, None]) ** (p - 1)
    return sums_of_pairs(grad[:, None] * slopes, len(x))


def renorm_factors(self: Array, p: float, dim: int, maxnorm: float) -> Array:
    """What shortens slices of a dim whose norm exceeds a limit."""
    others = tuple(d for d in range(self.ndim) if d != dim)
    length = np.sum(np.abs(self) ** p, others, keepdims=True) ** (1 / p)
    return np.where(length > maxnorm, maxnorm / (length + 1e-7), 1)
