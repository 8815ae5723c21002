"""References for linalg_qr.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def geqrf(A: Any) -> Any:
    """Of NumPy, which keeps the matrices transposed."""
    reflections, tau = np.linalg.qr(A, "raw")
    return np.swapaxes(reflections, -1, -2), tau


def product(A: Any, tau: Any) -> Any:
    """All columns of a product of reflections, made one by one."""
    m = A.shape[-2]
    Q = np.broadcast_to(np.eye(m), (*A.shape[:-2], m, m))
    for i in range(tau.shape[-1]):
        v = np.where(np.arange(m) < i, 0, A[..., i])
        v = np.where(np.arange(m) == i, 1, v)
        H = np.eye(m) - tau[..., i, None, None] * v[..., :, None] * np.conj(v[..., None, :])
        Q = Q @ H
    return Q


def householder_product(A: Any, tau: Any) -> Any:
    """Its first columns."""
    return product(A, tau)[..., : A.shape[-1]]


def ormqr(A: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    """Products with it."""
    Q = product(A, tau)
    Q = np.conj(np.swapaxes(Q, -1, -2)) if transpose else Q
    return Q @ other if left else other @ Q


def times_inner(vectors: Any, tau: Any, other: Any, turned: bool) -> Any:
    """Products with the triangle, which is found column by column, as LAPACK's larft does."""
    k = tau.shape[-1]
    T = np.zeros((*tau.shape[:-1], k, k), np.result_type(vectors, tau))
    products = np.conj(np.swapaxes(vectors, -1, -2)) @ vectors
    for i in range(k):
        T[..., :i, i] = -tau[..., i, None] * (T[..., :i, :i] @ products[..., :i, i, None])[..., 0]
        T[..., i, i] = tau[..., i]
    return (np.conj(np.swapaxes(T, -1, -2)) if turned else T) @ other
