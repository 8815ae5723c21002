"""References for linalg.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def contract(a: Any, b: Any, dims_a: Sequence[int], dims_b: Sequence[int]) -> Any:
    """Sums of products over pairs of dims; a size of 1 is repeated."""
    for i, j in zip(dims_a, dims_b, strict=True):
        size = a.shape[i] if b.shape[j] == 1 else b.shape[j]
        a = np.repeat(a, size, i) if a.shape[i] == 1 else a
        b = np.repeat(b, size, j) if b.shape[j] == 1 else b
    return np.tensordot(a, b, (dims_a, dims_b))
