"""References for linalg_lu.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg


def adjoint(matrices: Any) -> Any:
    """Transposed and conjugated."""
    return np.conj(np.swapaxes(matrices, -1, -2))


def lu_factors(A: Any) -> Any:
    """The compact form, pivots counted from 1, and no failures."""
    batch, (m, n) = A.shape[:-2], A.shape[-2:]
    factors, pivots = np.zeros_like(A), np.zeros((*batch, min(m, n)), np.int32)
    for i in np.ndindex(batch):
        if min(m, n):
            factors[i], found = scipy.linalg.lu_factor(A[i])
            pivots[i] = found + 1
    return factors, pivots, np.zeros(batch, np.int32)


def permutation_of(pivots: Any, n: int) -> Any:
    """Exchanges of rows, made one by one."""
    orders = np.zeros((*pivots.shape[:-1], n), np.int64)
    for i in np.ndindex(pivots.shape[:-1]):
        order = list(range(n))
        for row, other in enumerate(pivots[i]):
            order[row], order[other - 1] = order[other - 1], order[row]
        orders[i] = order
    return orders


def exchanged_rows(self: Any, pivots: Any, backwards: bool) -> Any:
    """Exchanges of rows, made one by one."""
    order = permutation_of(pivots, self.shape[-2])
    if backwards:
        order = np.argsort(order, -1)
    return np.take_along_axis(self, order[..., None], -2)


def lu_unpacked(LU: Any, pivots: Any) -> Any:
    """P, L and U."""
    m, k = LU.shape[-2], min(LU.shape[-2:])
    P = np.swapaxes(np.eye(m)[permutation_of(pivots, m)], -1, -2)
    return P, np.tril(LU[..., :k], -1) + np.eye(m, k), np.triu(LU[..., :k, :])


def lu_solved(LU: Any, pivots: Any, B: Any, left: bool, adjoint_: bool) -> Any:
    """By multiplying the factors."""
    P, L, U = lu_unpacked(LU, pivots)
    A = P @ L @ U
    inverse = np.linalg.inv(adjoint(A) if adjoint_ else A)
    return inverse @ B if left else B @ inverse
