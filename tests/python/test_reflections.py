"""Products of reflections with few and many columns, and R without Q."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "complex64", "complex128"]


def _random(draw: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    parts = draw.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1] if "complex" in dtype else parts[0]).astype(dtype)


def _product(vectors: Array, tau: Array) -> Array:
    """H_1 H_2 ... of all rows, reflection by reflection."""
    found = np.eye(vectors.shape[0], dtype=vectors.dtype)
    for k in range(tau.shape[0]):
        vector = vectors[:, k].copy()
        vector[:k], vector[k] = 0, 1
        found = found @ (np.eye(len(vector)) - tau[k] * np.outer(vector, vector.conj()))
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("by_columns", [True, False])
@pytest.mark.parametrize("size", [(7, 7), (90, 40), (40, 90)])
def test_products_with_the_square_factor(
    size: tuple[int, int], by_columns: bool, dtype: str
) -> None:
    draw = np.random.default_rng(0)
    m, close = size[0], 1e-4 if np.finfo(dtype).bits == 32 else 1e-12
    found = flambeau.geqrf(flambeau.from_numpy(_random(draw, size, dtype)))
    a = found.a[:, : min(size)]
    a = a if by_columns else a.contiguous()
    q = _product(a.numpy().astype(np.complex128), found.tau.numpy().astype(np.complex128))
    assert np.abs(q.conj().T @ q - np.eye(m)).max() < close
    for columns in (0, 1, 2, 3, 4, 5, 11, 17, 33):
        for left in (True, False):
            other = _random(draw, (m, columns) if left else (columns, m), dtype)
            for transpose in (False, True):
                given = flambeau.from_numpy(other)
                product = flambeau.ormqr(a, found.tau, given, left, transpose).numpy()
                factor = q.conj().T if transpose else q
                wanted = factor @ other if left else other @ factor
                assert np.abs(product - wanted).max(initial=0) < close


def test_products_with_reflections_of_batches() -> None:
    draw = np.random.default_rng(1)
    found = flambeau.geqrf(flambeau.from_numpy(_random(draw, (3, 60, 20), "float64")))
    other = _random(draw, (3, 60, 6), "float64")
    product = flambeau.ormqr(found.a, found.tau, flambeau.from_numpy(other)).numpy()
    for a, tau, given, result in zip(found.a, found.tau, other, product, strict=True):
        np.testing.assert_allclose(result, _product(a.numpy(), tau.numpy()) @ given, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 80, 80), (300, 40), (40, 300), (0, 3)])
def test_triangles_alone(shape: tuple[int, ...], dtype: str) -> None:
    """Those of both factors, and R^H R = A^H A."""
    matrix = _random(np.random.default_rng(2), shape, dtype)
    given = flambeau.from_numpy(matrix)
    q, r = flambeau.linalg.qr(given, mode="r")
    both = flambeau.linalg.qr(given)
    assert q.shape == (0,)
    assert r.shape == both.R.shape
    assert r.stride() == both.R.stride()
    np.testing.assert_array_equal(r.numpy(), both.R.numpy())
    np.testing.assert_array_equal(np.tril(r.numpy(), -1), 0)
    close = 1e-3 if np.finfo(dtype).bits == 32 else 1e-11
    squares = np.conj(np.swapaxes(r.numpy(), -1, -2)) @ r.numpy()
    np.testing.assert_allclose(
        squares, np.conj(np.swapaxes(matrix, -1, -2)) @ matrix, atol=close, rtol=close
    )


def test_a_triangle_alone_has_a_gradient() -> None:
    matrix = flambeau.from_numpy(np.random.default_rng(3).standard_normal((6, 4)))
    gradients = []
    for mode in ("r", "reduced"):
        leaf = matrix.clone().requires_grad_()
        flambeau.linalg.qr(leaf, mode=mode).R.square().sum().backward()
        gradients.append(leaf.grad)
    assert flambeau.equal(*gradients)
    np.testing.assert_allclose(gradients[0].numpy(), 2 * matrix.numpy())  # as |R|^2 = |A|^2
