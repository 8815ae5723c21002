"""References for linalg_solve.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def solve(A: Any, B: Any, left: bool) -> Any:
    """By inverses; vectors are those that PyTorch takes for such."""
    if B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]):
        return (np.linalg.inv(A) @ B[..., None])[..., 0]
    return np.linalg.inv(A) @ B if left else B @ np.linalg.inv(A)


def cofactors_slope(A: Any, E: Any) -> Any:
    """The conjugated derivative of `det(A) inv(A).T` in a direction, by the product rule."""
    inverse = np.linalg.inv(A)
    ratio = inverse @ E
    trace = np.trace(ratio, axis1=-2, axis2=-1)[..., None, None]
    slope = np.linalg.det(A)[..., None, None] * (trace * inverse - ratio @ inverse)
    return np.conj(np.swapaxes(slope, -1, -2))
