"""References for declarations/linalg_solve.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def solve(A: Any, B: Any, left: bool) -> Any:
    """By inverses; vectors are those that PyTorch takes for such."""
    if B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]):
        return (np.linalg.inv(A) @ B[..., None])[..., 0]
    return np.linalg.inv(A) @ B if left else B @ np.linalg.inv(A)
