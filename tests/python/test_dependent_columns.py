"""Orthogonal factors of matrices whose columns depend on each other: what is left of a column after
a few reflections are numbers with few digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau

SHAPES = [(48, 48), (128, 30), (128, 48), (300, 64), (1000, 100)]
Array = np.ndarray[Any, Any]


def _matrix(kind: str, rows: int, columns: int) -> Array:
    if kind == "ones":
        return np.ones((rows, columns))
    two = np.random.default_rng(0).standard_normal((rows, 2))
    return np.repeat(two, columns // 2, 1)


def _distance(matrix: Array, wanted: Array) -> float:
    return float(np.abs(matrix - wanted).max())


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("kind", ["ones", "repeated"])
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_stay_orthogonal(shape: tuple[int, int], kind: str, dtype: str) -> None:
    matrix = _matrix(kind, *shape).astype(dtype)
    close = 50 * shape[0] ** 0.5 * float(np.finfo(dtype).eps)
    q, r = (t.numpy() for t in flambeau.linalg.qr(flambeau.tensor(matrix)))
    assert _distance(q.conj().T @ q, np.eye(shape[1])) < close
    assert _distance(q @ r, matrix) < 10 * close * float(np.abs(matrix).max())
    u, _, vh = (t.numpy() for t in flambeau.linalg.svd(flambeau.tensor(matrix), False))
    assert _distance(u.conj().T @ u, np.eye(shape[1])) < close
    assert _distance(vh @ vh.conj().T, np.eye(shape[1])) < close
