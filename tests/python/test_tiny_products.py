"""Products, triangles and exchanges of rows of many small matrices, against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import flambeau

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "complex64", "complex128"]
SIDES = [0, 1, 2, 3, 4, 5, 8, 11, 16, 17]
COUNT = 3


def _random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    parts = np.random.default_rng(seed).standard_normal((2, *shape)) * 5
    return (parts[0] + 1j * parts[1] if "complex" in dtype else parts[0]).astype(dtype)


def _layouts(matrix: Array) -> list[flambeau.Tensor]:
    """By rows, by columns, and neither."""
    given = flambeau.from_numpy(matrix)
    spread = flambeau.from_numpy(matrix.repeat(2, -2).repeat(3, -1))[..., ::2, ::3]
    return [given, given.mT.contiguous().mT, spread]


def _agree(found: flambeau.Tensor, wanted: Array, terms: int) -> None:
    limit = 500 * (terms + 1) * float(np.finfo(wanted.dtype).eps)
    assert found.shape == wanted.shape
    assert np.abs(found.numpy() - wanted).max(initial=0) <= limit


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIDES)
def test_products_of_every_size(n: int, dtype: str) -> None:
    for m, k in itertools.product(SIDES, SIDES):
        one, other = _random((COUNT, m, k), dtype), _random((COUNT, k, n), dtype, 1)
        for a, b in itertools.product(_layouts(one), _layouts(other)):
            _agree(flambeau.bmm(a, b), one @ other, k)


@pytest.mark.parametrize("dtype", [*DTYPES, "int32", "int8"])
def test_products_that_broadcast(dtype: str) -> None:
    for first, second in (
        ((5, 1), (4,)),
        ((1, 4), (5, 4)),
        ((5, 4), (5, 4)),
        ((), (5, 4)),
        ((2, 5, 4), (2, 1, 4)),
        ((2, 1, 4), (2, 5, 1)),
    ):
        one, other = _random((*first, 3, 4), dtype), _random((*second, 4, 2), dtype, 1)
        for a, b in itertools.product(_layouts(one), _layouts(other)):
            found, wanted = flambeau.matmul(a, b).numpy(), one @ other
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    stack = _random((5, 4, 3, 3), dtype)
    turned = flambeau.from_numpy(stack).transpose(0, 1)
    wanted = np.swapaxes(stack, 0, 1) @ np.swapaxes(stack, 0, 1)
    np.testing.assert_allclose((turned @ turned).numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_products_do_not_read_or_write_beside_their_matrices() -> None:
    for n in range(1, 9):
        frame = flambeau.full((4, n + 2, n + 2), float("nan"))
        inner = frame[:, 1:-1, 1:-1]
        inner.copy_(flambeau.from_numpy(_random((4, n, n), "float32")))
        for given in (inner, inner.mT):
            assert not flambeau.bmm(given, given).isnan().any()
        out = flambeau.full((6, n, n), 7.0)
        flambeau.bmm(inner, inner, out=out[1:5])
        assert (out[0] == 7).all()
        assert (out[5] == 7).all()


@pytest.mark.parametrize("dtype", [*DTYPES, "int32"])
@pytest.mark.parametrize("power", [0, 1, 2, 3, 7])
def test_powers_of_many(power: int, dtype: str) -> None:
    for n, count in ((1, 5000), (2, 1000), (4, 300), (17, 9)):
        matrix = (_random((count, n, n), dtype) / (8 if dtype != "int32" else 3)).astype(dtype)
        wanted = np.linalg.matrix_power(matrix, power)
        size = np.abs(wanted).max(initial=1)
        for given in _layouts(matrix):
            found = flambeau.linalg.matrix_power(given, power).numpy()
            np.testing.assert_allclose(found / size, wanted / size, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "int32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (2, 2), (3, 5), (8, 8), (5, 40)])
def test_triangles_of_many(shape: tuple[int, int], dtype: str) -> None:
    for count, diagonal in itertools.product((1, 2, 7, 300), (0, -1, 1, 2, -100, 100)):
        matrix = _random((count, *shape), dtype)
        for given in _layouts(matrix):
            lower, upper = given.tril(diagonal).numpy(), given.triu(diagonal).numpy()
            np.testing.assert_array_equal(lower, np.tril(matrix, diagonal))
            np.testing.assert_array_equal(upper, np.triu(matrix, diagonal))
            within = given.clone()
            assert within.tril_(diagonal) is within
            np.testing.assert_array_equal(within.numpy(), lower)


def test_triangles_keep_what_is_no_number() -> None:
    matrix = flambeau.full((9, 3, 3), float("nan"))
    assert matrix.tril().isnan().sum() == 9 * 6
    assert (matrix.triu(1).nan_to_num(1.0).sum((-2, -1)) == 3).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_are_unpacked_from_any_layout(dtype: str) -> None:
    for m, n in ((1, 1), (4, 4), (8, 8), (3, 5), (5, 3), (40, 40)):
        matrix = _random((37, m, n), dtype)
        factors, pivots = flambeau.linalg.lu_factor(flambeau.from_numpy(matrix))
        packed = factors.numpy()
        for given in _layouts(packed):
            p, lower, upper = (t.numpy() for t in flambeau.lu_unpack(given, pivots))
            unit = np.eye(m, min(m, n), dtype=dtype)
            np.testing.assert_array_equal(lower, np.tril(packed[..., : min(m, n)], -1) + unit)
            np.testing.assert_array_equal(upper, np.triu(packed[..., : min(m, n), :]))
            _agree(flambeau.from_numpy(p @ lower @ upper), matrix, n)
