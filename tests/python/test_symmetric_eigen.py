"""Eigenvalues and vectors of symmetric matrices that are made of solved halves, by what defines
them, and against LAPACK through NumPy in the precision above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flambeau import linalg, tensor

SIZES = (10, 17, 48, 49, 64, 97, 130, 181, 257)


def _with_values(values: Any) -> Any:
    """A full matrix of these eigenvalues."""
    count = len(values)
    turns = np.linalg.qr(np.random.default_rng(5).standard_normal((count, count)))[0]
    return turns * values @ turns.T


def _random(count: int) -> Any:
    return np.random.default_rng(count).standard_normal((count, count))


def _tridiagonal(diagonal: Any) -> Any:
    beside = np.ones(len(diagonal) - 1)
    return np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)


MATRICES: dict[str, Callable[[int], Any]] = {
    "random": _random,
    "zeros": lambda n: np.zeros((n, n)),
    "ones": lambda n: np.ones((n, n)),
    "a diagonal": lambda n: np.diag(np.arange(n)[::-1] - 5.0),
    "nearly equal pairs": lambda n: _tridiagonal(np.abs(np.arange(n) - n // 2)),
    "second differences": lambda n: _tridiagonal(np.full(n, -2.0)),
    "three values": lambda n: _with_values(np.arange(n) % 3 - 1.0),
    "values within a rounding": lambda n: _with_values(1 + 1e-9 * np.arange(n)),
    "values of all sizes": lambda n: _with_values(10.0 ** -np.linspace(0, 12, n)),
    "of rank 2": lambda n: _random(n)[:, :2] @ _random(n)[:, :2].T,
    "one coupling": lambda n: np.eye(n) + 1e-8 * np.eye(n, k=n // 2) + 1e-8 * np.eye(n, k=-n // 2),
    "tiny": lambda n: _random(n) * 1e-36,
    "large": lambda n: _random(n) * 1e36,
}


def _check(matrix: Any, lower: bool) -> None:
    values, vectors = linalg.eigh(tensor(matrix), UPLO="L" if lower else "U")
    kind = np.complex128 if np.iscomplexobj(matrix) else np.float64
    half = matrix.astype(kind) if lower else matrix.astype(kind).conj().T
    wide = np.tril(half, -1) + np.tril(half, -1).conj().T + np.diag(half.diagonal().real)
    found, turns = values.numpy().astype("float64"), vectors.numpy().astype(kind)
    count, step = len(matrix), float(np.finfo(matrix.dtype).eps)
    size = float(np.linalg.norm(wide, 2)) * count * step
    assert (np.diff(found) >= 0).all()
    expected = np.linalg.eigvalsh(wide)
    np.testing.assert_allclose(found, expected, rtol=0, atol=size)
    alone = linalg.eigvalsh(tensor(matrix), UPLO="L" if lower else "U")
    np.testing.assert_allclose(alone.numpy(), expected, rtol=0, atol=size)
    np.testing.assert_allclose(wide @ turns, turns * found, rtol=0, atol=size)
    identity = turns.conj().T @ turns
    np.testing.assert_allclose(identity, np.eye(count), rtol=0, atol=count * step)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_matrices(name: str, dtype: str) -> None:
    for count in SIZES:
        _check(MATRICES[name](count).astype(dtype), lower=count % 2 == 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("lower", [True, False])
def test_complex_matrices(dtype: str, lower: bool) -> None:
    for count in SIZES:
        _check((_random(count) + 1j * _random(count + 1)[1:, 1:]).astype(dtype), lower)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_values_alone_of_all_sizes(dtype: str) -> None:
    for count in (*range(1, 10), 800):
        imaginary = 1j * _random(count + 1)[1:, 1:] if dtype.startswith("complex") else 0
        matrix = (_random(count) + imaginary).astype(dtype)
        expected = np.linalg.eigvalsh(matrix.astype(np.complex128))
        size = count * float(np.finfo(dtype).eps) * np.abs(expected).max()
        found = linalg.eigvalsh(tensor(matrix)).numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=size)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_squares_neither_vanish_nor_overflow(scale: float) -> None:
    matrix = _random(60)
    values = linalg.eigh(tensor(matrix * scale)).eigenvalues.numpy() / scale
    size = np.abs(matrix).max() * 60 * 2.0**-52
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=0, atol=size)


def test_other_triangle_is_not_read() -> None:
    matrix = _random(70)
    matrix[np.triu_indices(70, 1)] = np.nan
    values = linalg.eigh(tensor(matrix)).eigenvalues.numpy()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=0, atol=1e-12)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_not_finite_makes_nan(number: float) -> None:
    matrix = _random(60)
    matrix[40, 7] = number
    assert linalg.eigh(tensor(matrix)).eigenvalues.isnan().all()


def test_batches_and_layouts() -> None:
    matrices = np.stack([_random(count) for count in (50, 50, 50)]).transpose(0, 2, 1)
    values, vectors = linalg.eigh(tensor(matrices))
    for matrix, each, turns in zip(matrices, values.numpy(), vectors.numpy(), strict=True):
        wide = np.tril(matrix) + np.tril(matrix, -1).T
        np.testing.assert_allclose(turns * each @ turns.T, wide, rtol=0, atol=1e-12)
