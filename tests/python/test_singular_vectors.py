"""Singular vectors of matrices that are turned back by products of reflections, by what defines
them, and values against NumPy's in the precision above."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau import linalg, tensor

SIZES = ((48, 48), (64, 48), (48, 64), (100, 49), (50, 200), (129, 128), (257, 60))


def _random(rows: int, columns: int) -> Any:
    return np.random.default_rng(rows).standard_normal((rows, columns))


MATRICES = {
    "zeros": np.zeros((60, 70)),
    "ones": np.ones((90, 60)),
    "a diagonal": np.diag(np.arange(70.0)),
    "of rank 3": _random(90, 3) @ _random(3, 80),
    "tiny": _random(60, 60) * 1e-36,
    "large": _random(60, 60) * 1e36,
    "lines that are apart": _random(120, 70)[::-2].T,
}


def _check(matrix: Any, full_matrices: bool) -> None:
    parts = linalg.svd(tensor(matrix), full_matrices=full_matrices)
    left, values, right = (part.numpy().astype("float64") for part in parts)
    rows, columns = matrix.shape
    count, step = min(rows, columns), float(np.finfo(matrix.dtype).eps)
    assert left.shape == (rows, rows if full_matrices else count)
    assert right.shape == (columns if full_matrices else count, columns)
    assert (np.diff(values) <= 0).all()
    wide = matrix.astype("float64")
    expected = np.linalg.svd(wide, compute_uv=False)
    size = expected[0] * max(rows, columns) * step
    np.testing.assert_allclose(values, expected, rtol=0, atol=size)
    product = left[:, :count] * values @ right[:count]
    np.testing.assert_allclose(product, wide, rtol=0, atol=size)
    for turns in (left.T @ left, right @ right.T):
        np.testing.assert_allclose(turns, np.eye(len(turns)), rtol=0, atol=rows * columns * step)


@pytest.mark.parametrize("full_matrices", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes(dtype: str, full_matrices: bool) -> None:
    for rows, columns in SIZES:
        _check(_random(rows, columns).astype(dtype), full_matrices)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices(name: str, dtype: str) -> None:
    for full_matrices in (False, True):
        _check(MATRICES[name].astype(dtype), full_matrices)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_squares_neither_vanish_nor_overflow(scale: float) -> None:
    matrix = _random(60, 50)
    values = linalg.svd(tensor(matrix * scale)).S.numpy() / scale
    np.testing.assert_allclose(values, np.linalg.svd(matrix)[1], rtol=1e-12)


def test_nan_is_rejected() -> None:
    matrix = _random(60, 50)
    matrix[40, 7] = np.nan
    with pytest.raises(linalg.LinAlgError, match="the input has infinities or NaN"):
        linalg.svd(tensor(matrix))


def test_batches() -> None:
    matrices = np.stack([_random(50 + i, 55)[:50] for i in range(5)])
    left, values, right = (x.numpy() for x in linalg.svd(tensor(matrices), full_matrices=False))
    product = left * values[:, None] @ right
    np.testing.assert_allclose(product, matrices, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (60, 50)])
@pytest.mark.parametrize("number", [np.inf, -np.inf])
def test_infinities_end(shape: tuple[int, int], number: float) -> None:
    """There is no decomposition: a search for one would not end."""
    matrix = np.random.default_rng(0).standard_normal(shape)
    matrix[1, 2] = number
    for dtype in (np.float32, np.complex64):
        _, values, _ = linalg.svd(tensor(matrix.astype(dtype)))
        assert np.isnan(values.numpy()).all()
