"""Eigenvalues, singular values and determinants of many tiny matrices, which are found side by
side: each as if it were alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "complex64", "complex128"]
COUNTS = [1, 3, 8, 9, 37]


def _random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    parts = np.random.default_rng(seed).standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1] if "complex" in dtype else parts[0]).astype(dtype)


def _digits(dtype: str) -> float:
    return 100 * float(np.finfo(dtype).eps)


def _adjoint(matrix: Array) -> Array:
    return np.conj(np.swapaxes(matrix, -1, -2))


def _special(size: tuple[int, int], count: int, dtype: str) -> Array:
    """Random ones, zeros, the identity, of rank 1, of equal numbers, graded, very small, huge."""
    found = _random((max(count, 9), *size), dtype)
    found[1], found[2] = 0, np.eye(*size)
    found[3] = found[3][:, :1] * found[3][:1]
    found[4] = 1
    found[5] *= np.geomspace(1, np.finfo(dtype).eps ** 2, size[1])
    found[6] *= 100 * np.finfo(dtype).tiny
    found[7] *= np.finfo(dtype).max / 1000
    return found[:count]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", range(1, 10))
def test_symmetric_matrices(n: int, lower: bool, dtype: str) -> None:
    for count in COUNTS:
        half = _special((n, n), count, dtype) / 2
        whole = half + _adjoint(half)
        if n > 2:
            whole[-1] = np.diag(np.arange(n) % 2)  # some of them equal
        half = np.tril(whole) if lower else np.triu(whole)  # nothing else is read
        half[..., *((0, -1) if lower else (-1, 0))] += np.nan if n > 1 else 0
        given = flambeau.from_numpy(half)
        side = "L" if lower else "U"
        values, vectors = (t.numpy() for t in flambeau.linalg.eigh(given, UPLO=side))
        wanted = np.linalg.eigvalsh(whole.astype(np.result_type(dtype, np.float64)))
        sizes = np.maximum(np.abs(whole).max((-1, -2), keepdims=True), np.finfo(dtype).tiny)
        assert np.abs((values - wanted) / sizes[..., 0]).max() < _digits(dtype)
        alone = flambeau.linalg.eigvalsh(given, UPLO=side).numpy()
        assert np.abs((alone - wanted) / sizes[..., 0]).max() < _digits(dtype)
        assert np.abs(_adjoint(vectors) @ vectors - np.eye(n)).max() < _digits(dtype)
        left = (whole / sizes) @ vectors - vectors * (values[..., None, :] / sizes)
        assert np.abs(left).max() < _digits(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(1, 1), (3, 3), (4, 4), (8, 8), (8, 3), (2, 7), (1, 5), (9, 4)])
def test_singular_values(size: tuple[int, int], dtype: str) -> None:
    for count in COUNTS:
        matrix = _special(size, count, dtype)
        given = flambeau.from_numpy(matrix)
        wanted = np.linalg.svd(matrix.astype(np.result_type(dtype, np.float64)), compute_uv=False)
        sizes = np.maximum(np.abs(matrix).max((-1, -2), keepdims=True), np.finfo(dtype).tiny)
        alone = flambeau.linalg.svdvals(given).numpy()
        assert np.abs((alone - wanted) / sizes[..., 0]).max() < _digits(dtype)
        for full in (False, True):
            u, s, vh = (t.numpy() for t in flambeau.linalg.svd(given, full_matrices=full))
            assert np.abs((s - wanted) / sizes[..., 0]).max() < _digits(dtype)
            assert np.all(s[..., :-1] >= s[..., 1:])
            for factor in (_adjoint(u) @ u, vh @ _adjoint(vh)):
                assert np.abs(factor - np.eye(factor.shape[-1])).max() < _digits(dtype)
            k = min(size)
            product = (u[..., :k] * (s / sizes[..., 0])[..., None, :]) @ vh[..., :k, :]
            assert np.abs(product - matrix / sizes).max() < _digits(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", range(10))
def test_determinants(n: int, dtype: str) -> None:
    for count in (0, *COUNTS):
        matrix = _random((count, n, n), dtype)
        if count > 2 and n > 1:
            matrix[1, 0] = matrix[1, 1]  # singular
            matrix[2, 0, 0] = np.nan
        given = flambeau.from_numpy(matrix)
        with np.errstate(invalid="ignore"):
            wanted = np.linalg.det(matrix.astype(np.result_type(dtype, np.float64)))
        for tensor in (given, given.mT.contiguous().mT, given.mT):
            np.testing.assert_allclose(
                flambeau.linalg.det(tensor).numpy(), wanted, atol=_digits(dtype) * 3**n
            )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_differences_do_not_overflow(dtype: str) -> None:
    most = np.finfo(dtype).max
    given = np.array([[0.9, 0.3], [0.3, -0.9]], dtype) * most
    values = flambeau.linalg.eigvalsh(flambeau.from_numpy(given)).numpy() / most
    np.testing.assert_allclose(values, [-np.sqrt(0.9), np.sqrt(0.9)], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_matrix_does_not_feel_its_neighbours(dtype: str) -> None:
    matrices = _random((16, 5, 5), dtype)
    others = matrices.copy()
    others[1::2] = np.geomspace(1, 1e-9, 5) * _random((8, 5, 5), dtype, 1)
    for function in (flambeau.linalg.svdvals, flambeau.linalg.eigvalsh, flambeau.linalg.det):
        one, other = (function(flambeau.from_numpy(x)).numpy() for x in (matrices, others))
        np.testing.assert_array_equal(one[::2], other[::2])


def test_what_is_not_finite() -> None:
    """An infinity leaves its own matrix without singular values, NaN is an error."""
    matrices = flambeau.from_numpy(_random((16, 4, 4), "float32"))
    wanted = flambeau.linalg.svdvals(matrices)
    matrices[3, 1, 2] = float("inf")
    found = flambeau.linalg.svdvals(matrices)
    assert found[3].isnan().all()
    assert flambeau.equal(found[8:], wanted[8:])
    assert flambeau.allclose(found[:3], wanted[:3])
    matrices[3, 1, 2] = float("nan")
    with pytest.raises(flambeau.linalg.LinAlgError):
        flambeau.linalg.svd(matrices)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems(unit: bool, upper: bool, left: bool, dtype: str) -> None:
    for n, sides in ((1, 1), (3, 2), (8, 1), (16, 5), (4, 20)):
        for count in COUNTS:
            whole = _random((count, n, n), dtype) / 4 + np.eye(n, dtype=dtype)
            half = np.triu(whole) if upper else np.tril(whole)
            if unit:
                half = half + np.eye(n) - np.einsum("bij,ij->bij", half, np.eye(n))
            given = np.where(half != 0, whole, np.nan).astype(dtype)  # nothing else is read
            b = _random((count, n, sides) if left else (count, sides, n), dtype, 1)
            for matrix, rhs in ((given, b), (given[:1], b), (given, np.swapaxes(b, 1, 2))):
                turned = rhs is not b
                tensor = flambeau.from_numpy(np.ascontiguousarray(rhs))
                found = flambeau.linalg.solve_triangular(
                    flambeau.from_numpy(np.ascontiguousarray(matrix)),
                    tensor.mT if turned else tensor,
                    upper=upper,
                    left=left,
                    unitriangular=unit,
                ).numpy()
                triangle = half[: len(matrix)]
                product = triangle @ found if left else found @ triangle
                assert np.abs(product - b).max() < 20 * _digits(dtype) * max(1, abs(found).max())
