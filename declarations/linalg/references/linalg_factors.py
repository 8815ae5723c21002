"""References for linalg_factors.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def adjoint(matrices: Any) -> Any:
    """Transposed and conjugated."""
    return np.conj(np.swapaxes(matrices, -1, -2))


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
