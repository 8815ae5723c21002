"""LU factors of matrices whose blocks of columns threads take one by one, against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import lapack

from flambeau import linalg, tensor

SIZES = ((128, 128), (131, 150), (200, 130), (257, 300), (300, 257), (700, 140), (140, 700))


def _random(rows: int, columns: int, dtype: str) -> Any:
    generator = np.random.default_rng(rows)
    matrix = generator.standard_normal((rows, columns))
    if dtype.startswith("complex"):
        matrix = matrix + 1j * generator.standard_normal((rows, columns))
    return matrix.astype(dtype)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_factors(size: tuple[int, int], dtype: str) -> None:
    matrix = _random(*size, dtype)
    factors, pivots, info = linalg.lu_factor_ex(tensor(matrix))
    wide = matrix.astype("complex128" if dtype.startswith("complex") else "float64")
    expected, exchanges, _ = (lapack.zgetrf if np.iscomplexobj(wide) else lapack.dgetrf)(wide)
    assert info.item() == 0
    assert (pivots.numpy() == exchanges + 1).all()
    step = float(np.finfo(dtype).eps) * min(size) * float(np.abs(expected).max())
    np.testing.assert_allclose(factors.numpy(), expected, rtol=0, atol=20 * step)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("by_columns", [False, True])
def test_products_of_factors(size: tuple[int, int], by_columns: bool) -> None:
    matrix = _random(*size, "float64")
    given = tensor(matrix.T.copy()).mT if by_columns else tensor(matrix)
    order, lower, upper = (part.numpy() for part in linalg.lu(given))
    np.testing.assert_allclose(order @ lower @ upper, matrix, rtol=0, atol=1e-11)
    assert np.abs(lower).max() <= 1


@pytest.mark.parametrize("column", [0, 63, 64, 200, 299])
def test_first_zero_of_the_diagonal_is_named(column: int) -> None:
    matrix = np.eye(300)
    matrix[column:, column] = 0
    matrix[:, -1] = matrix[:, column]
    assert linalg.lu_factor_ex(tensor(matrix)).info.item() == column + 1


def test_determinants_and_solutions() -> None:
    matrix = _random(260, 260, "float64")
    sign, logarithm = linalg.slogdet(tensor(matrix))
    expected = np.linalg.slogdet(matrix)
    np.testing.assert_allclose([sign.item(), logarithm.item()], expected, rtol=1e-12)
    sides = _random(260, 5, "float64")
    found = linalg.solve(tensor(matrix), tensor(sides)).numpy()
    np.testing.assert_allclose(matrix @ found, sides, rtol=0, atol=1e-10)
