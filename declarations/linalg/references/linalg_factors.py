"""References for linalg_factors.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg


def adjoint(matrices: Any) -> Any:
    """Transposed and conjugated."""
    return np.conj(np.swapaxes(matrices, -1, -2))


def each(function: Any, *stacks: Any) -> Any:
    """The function of the matrices of stacks, one by one; stacks broadcast."""
    batch = np.broadcast_shapes(*(s.shape[:-2] for s in stacks))
    given = [np.broadcast_to(s, batch + s.shape[-2:]) for s in stacks]
    found = [function(*(s[i] for s in given)) for i in np.ndindex(batch)]
    return np.stack(found).reshape(batch + found[0].shape) if found else None


def cholesky(A: Any, upper: bool) -> Any:
    """Of what one triangle makes of complex matrices. Real ones are symmetric here: their mean with
    the transposed serves for differences, too, which see what gradients are of.
    """
    if np.iscomplexobj(A):
        triangle = np.triu(A, 1) if upper else np.tril(A, -1)
        A = triangle + adjoint(triangle) + np.eye(A.shape[-1]) * A.real
    lower = np.linalg.cholesky((A + adjoint(A)) / 2)
    return adjoint(lower) if upper else lower


def solve_triangular(A: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    """With the other triangle cut off, by a general solver."""
    triangle = np.triu(A) if upper else np.tril(A)
    if unitriangular:
        diagonal = np.eye(A.shape[-1], dtype=bool)
        triangle = np.where(diagonal, 1, triangle)
    if left:
        return np.linalg.inv(triangle) @ B
    return B @ np.linalg.inv(triangle)


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
