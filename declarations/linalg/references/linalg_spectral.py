"""References for linalg_spectral.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = 2e-4  # of float32, relative to the largest element


def adjoint(matrices: Any) -> Any:
    """Transposed and conjugated."""
    return np.conj(np.swapaxes(matrices, -1, -2))


def hermitian(A: Any, lower: bool) -> Any:
    """What complex matrices are taken for. Real ones are symmetric here: their mean with the
    transposed serves for differences, too, which see what gradients are of.
    """
    if not np.iscomplexobj(A):
        return (A + adjoint(A)) / 2
    triangle = np.tril(A, -1) if lower else np.triu(A, 1)
    return triangle + adjoint(triangle) + np.eye(A.shape[-1]) * A.real


def symmetric_eigenvalues(A: Any, lower: bool) -> Any:
    """Of NumPy."""
    return np.linalg.eigvalsh(hermitian(A, lower))


def close(found: Any, wanted: Any) -> bool:
    """Whether matrices agree."""
    scale = 1 + np.max(np.abs(wanted), initial=0)
    return bool(np.allclose(found, wanted, 0, TOLERANCE * scale))


def is_orthonormal(columns: Any) -> bool:
    """Whether columns are."""
    return close(adjoint(columns) @ columns, np.eye(columns.shape[-1]))


def is_symmetric_eigen(A: Any, lower: bool, values: Any, vectors: Any) -> bool:
    """Eigenvectors have no sign that a reference could tell."""
    A = hermitian(A, lower)
    fits = close(A @ vectors, vectors * values[..., None, :])
    return fits and is_orthonormal(vectors) and close(values, np.linalg.eigvalsh(A))


def is_general_eigen(A: Any, values: Any, vectors: Any) -> bool:
    """Vectors of length 1."""
    lengths = np.linalg.norm(vectors, axis=-2)
    return close(A @ vectors, vectors * values[..., None, :]) and close(
        lengths, np.ones_like(lengths)
    )


def is_svd(A: Any, U: Any, S: Any, Vh: Any) -> bool:
    """Singular vectors have no sign that a reference could tell."""
    k = S.shape[-1]
    fits = close((U[..., :k] * S[..., None, :]) @ Vh[..., :k, :], A)
    values = close(S, np.linalg.svd(A, compute_uv=False))
    return fits and values and is_orthonormal(U) and is_orthonormal(adjoint(Vh))
