"""References for linalg_solve.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg


def solve(A: Any, B: Any, left: bool) -> Any:
    """By inverses; vectors are those that PyTorch takes for such."""
    if B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]):
        return (np.linalg.inv(A) @ B[..., None])[..., 0]
    return np.linalg.inv(A) @ B if left else B @ np.linalg.inv(A)


def solution(LU: Any, pivots: Any, B: Any, adjoint: bool) -> Any:
    """By SciPy, one system after the other."""
    batch = np.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
    matrices = np.broadcast_to(LU, batch + LU.shape[-2:])
    orders = np.broadcast_to(pivots - 1, batch + pivots.shape[-1:])
    sides = np.broadcast_to(B, batch + B.shape[-2:])
    result = np.empty_like(sides)
    for i in np.ndindex(batch):
        result[i] = scipy.linalg.lu_solve((matrices[i], orders[i]), sides[i], 2 * adjoint)
    return result


def cofactors_slope(A: Any, E: Any) -> Any:
    """The conjugated derivative of `det(A) inv(A).T` in a direction, by the product rule."""
    inverse = np.linalg.inv(A)
    ratio = inverse @ E
    trace = np.trace(ratio, axis1=-2, axis2=-1)[..., None, None]
    slope = np.linalg.det(A)[..., None, None] * (trace * inverse - ratio @ inverse)
    return np.conj(np.swapaxes(slope, -1, -2))


def factored_determinant(LU: Any, pivots: Any) -> Any:
    """The product of U's diagonal, turned once for each exchange of two rows."""
    odd = np.sum(pivots != np.arange(1, pivots.shape[-1] + 1), -1) % 2
    return ((1 - 2 * odd) * np.prod(np.diagonal(LU, axis1=-2, axis2=-1), -1)).astype(LU.dtype)


def factored_sign_and_log(LU: Any, pivots: Any) -> Any:
    """Of the determinant."""
    found = factored_determinant(LU, pivots)
    size = np.abs(found)
    return found / size, np.log(size)
