"""References for linalg_least_squares.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def least_squares(A: Any, B: Any) -> Any:
    """By pseudo-inverses."""
    solution = np.linalg.pinv(A) @ B
    left = B - A @ solution
    rank = np.full(A.shape[:-2], min(A.shape[-2:]))
    return solution, np.sum(np.abs(left) ** 2, -2), rank, np.linalg.svd(A, compute_uv=False)


def lstsq(A: Any, B: Any, driver: str | None) -> Any:
    """What the driver gives of it."""
    is_vector = A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]
    sides = B[..., None] if is_vector else B
    batch = np.broadcast_shapes(A.shape[:-2], sides.shape[:-2])
    A = np.broadcast_to(A, batch + A.shape[-2:])
    solution, residuals, rank, values = least_squares(A, sides)
    has_residuals = A.shape[-2] > A.shape[-1] and driver not in (None, "gelsy")
    return (
        solution[..., 0] if is_vector else solution,
        residuals if has_residuals else np.zeros(0),
        np.zeros(0) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else np.zeros(0),
    )


def ldl_solution(LD: Any, B: Any) -> Any:
    """Where no rows are exchanged and D is a diagonal."""
    L = np.tril(LD, -1) + np.eye(LD.shape[-1])
    D = np.eye(LD.shape[-1]) * LD
    return np.linalg.inv(L @ D @ np.swapaxes(L, -1, -2)) @ B
