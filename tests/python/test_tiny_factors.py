"""Factors, systems, exponentials and general eigenvalues of many tiny matrices, which are found
side by side or without LAPACK: each as if it were alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import flambeau

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "complex64", "complex128"]
COUNTS = [0, 1, 3, 8, 9, 37]
SIZES = [1, 2, 3, 4, 7, 8, 16, 17]


def _random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    parts = np.random.default_rng(seed).standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1] if "complex" in dtype else parts[0]).astype(dtype)


def _digits(dtype: str) -> float:
    return 200 * float(np.finfo(dtype).eps)


def _adjoint(matrix: Array) -> Array:
    return np.conj(np.swapaxes(matrix, -1, -2))


def _layouts(matrix: Array) -> list[flambeau.Tensor]:
    """By rows, by columns, of every other matrix, of a batch in two dims that do not merge."""
    given = flambeau.from_numpy(matrix)
    doubled = given.repeat_interleave(2, 0)[::2]
    padded = flambeau.nn.functional.pad(given, (1, 2, 1, 0))[..., 1:, 1:-2]
    return [given, given.mT.contiguous().mT, doubled, padded]


def _wide(x: Array) -> Array:
    return x.astype(np.result_type(x.dtype, np.float64))


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(n, n) for n in SIZES] + [(3, 5), (8, 2), (0, 3), (3, 0)])
def test_lu(shape: tuple[int, int], dtype: str) -> None:
    for count in COUNTS:
        matrix = _random((count, *shape), dtype)
        if count > 2 and min(shape) > 1:
            matrix[1, :, 0] = 0  # no pivot
            matrix[2] = 0
        for given in _layouts(matrix):
            factors, pivots, info = flambeau.linalg.lu_factor_ex(given)
            p, lower, upper = (t.numpy() for t in flambeau.linalg.lu(given))
            for i in range(count):
                wanted, exchanged = scipy.linalg.lu_factor(matrix[i]) if 0 not in shape else (0, 0)
                if 0 not in shape and i not in (1, 2):
                    np.testing.assert_array_equal(pivots[i].numpy(), exchanged + 1)
                    assert _largest(factors[i].numpy() - wanted) < 10 * _digits(dtype)
            assert info.tolist() == [
                1 if i in (1, 2) and count > 2 and min(shape) > 1 else 0 for i in range(count)
            ]
            product = _wide(p) @ _wide(lower) @ _wide(upper)
            assert _largest(product - matrix) < _digits(dtype)
            assert _largest(np.triu(lower, 1)) == 0 and _largest(np.tril(upper, -1)) == 0
            np.testing.assert_array_equal(np.sort(p.real, -1)[..., :-1], 0)
            np.testing.assert_array_equal(p.sum(-1), 1)
            both = flambeau.lu_unpack(factors, pivots)
            for found, known in zip(both, (p, lower, upper), strict=True):
                np.testing.assert_array_equal(found.numpy(), known)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve(adjoint: bool, left: bool, dtype: str) -> None:
    for n, sides in ((1, 1), (4, 4), (8, 3), (8, 8), (16, 2), (17, 4), (4, 0)):
        for count in COUNTS:
            matrix = _random((count, n, n), dtype) + 3 * np.eye(n, dtype=dtype)
            factors, pivots = flambeau.linalg.lu_factor(flambeau.from_numpy(matrix))
            side = _random((count, n, sides) if left else (count, sides, n), dtype, 1)
            whole = _adjoint(matrix) if adjoint else matrix
            for b in _layouts(side):
                found = flambeau.linalg.lu_solve(factors, pivots, b, left=left, adjoint=adjoint)
                product = whole @ found.numpy() if left else found.numpy() @ whole
                assert _largest(product - side) < 10 * _digits(dtype)
            one = flambeau.linalg.lu_solve(
                factors[:1], pivots[:1], flambeau.from_numpy(side), left=left, adjoint=adjoint
            ).numpy()
            if count:
                product = whole[:1] @ one if left else one @ whole[:1]
                assert _largest(product - side) < 10 * _digits(dtype)


def test_pivots_in_any_order() -> None:
    """Rows may be exchanged with those above them, too: pivots need not be those of LAPACK."""
    factors = flambeau.from_numpy(_random((9, 3, 3), "float64") + 3 * np.eye(3))
    b = flambeau.from_numpy(_random((9, 3, 2), "float64", 1))
    for numbers in ([1, 1, 1], [3, 1, 2], [2, 1, 1]):
        pivots = flambeau.tensor([numbers] * 9, dtype=flambeau.int32)
        p, lower, upper = flambeau.lu_unpack(factors, pivots)
        product = p @ lower @ upper
        for adjoint in (False, True):
            found = flambeau.linalg.lu_solve(factors, pivots, b, adjoint=adjoint)
            assert flambeau.allclose((product.mH if adjoint else product) @ found, b)
    for wrong in ([0, 1, 2], [1, 2, 4], [-1, 2, 3]):
        pivots = flambeau.tensor([wrong] * 9, dtype=flambeau.int32)
        with pytest.raises(RuntimeError, match="pivots must lie between 1 and 3"):
            flambeau.linalg.lu_solve(factors, pivots, b)
        with pytest.raises(RuntimeError, match="pivots must lie between 1 and 3"):
            flambeau.lu_unpack(factors, pivots)


def test_gradients_of_factors_stay() -> None:
    """What is differentiated takes another way than what is not."""
    matrix = flambeau.from_numpy(_random((9, 3, 3), "float64") + 3 * np.eye(3)).requires_grad_()
    b = flambeau.from_numpy(_random((9, 3, 2), "float64", 1)).requires_grad_()
    factors, pivots = flambeau.linalg.lu_factor(matrix)
    plain = flambeau.linalg.lu_solve(factors.detach(), pivots, b.detach())
    solved = flambeau.linalg.lu_solve(factors, pivots, b)
    assert flambeau.allclose(plain, solved)
    solved.sum().backward()
    inverse = np.linalg.inv(matrix.detach().numpy())
    wanted = np.swapaxes(inverse, -1, -2) @ np.ones((9, 3, 2))
    np.testing.assert_allclose(b.grad.numpy(), wanted)
    np.testing.assert_allclose(
        matrix.grad.numpy(), -wanted @ np.swapaxes(plain.numpy(), -1, -2), atol=1e-12
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("n", [0, *SIZES])
def test_ldl(n: int, hermitian: bool, dtype: str) -> None:
    """Against SciPy's factors of the same matrices, and against the systems that they solve."""
    for count in COUNTS:
        half = _random((count, n, n), dtype)
        whole = half + (_adjoint(half) if hermitian else np.swapaxes(half, -1, -2))
        if count > 3 and n > 1:
            whole[1] *= 1 - np.eye(n, dtype=dtype)  # blocks of two rows
            whole[2] = 0
            whole[3, -1] = whole[3, :, -1] = 0
        read = np.tril(whole) + np.nan * np.triu(np.ones((n, n)), 1).astype(dtype)  # nothing else
        for given in _layouts(np.where(np.tri(n, dtype=bool), whole, read).astype(dtype)):
            factors, pivots, info = flambeau.linalg.ldl_factor_ex(given, hermitian=hermitian)
            np.testing.assert_array_equal(np.triu(factors.numpy(), 1), 0)
            for i in range(count):
                if n == 0:
                    continue
                name = "hetrf" if hermitian and "complex" in dtype else "sytrf"
                (factor,) = scipy.linalg.get_lapack_funcs((name,), (whole[i],))
                wanted, exchanged, failed = factor(whole[i], lower=1)
                assert info[i] == failed
                np.testing.assert_array_equal(pivots[i].numpy(), exchanged)
                scale = max(1, _largest(np.tril(wanted)))
                assert _largest(factors[i].numpy() - np.tril(wanted)) < _digits(dtype) * scale
            good = np.flatnonzero(info.numpy() == 0)
            b = _random((len(good), n, 2), dtype, 1)
            x = flambeau.linalg.ldl_solve(
                factors[good], pivots[good], flambeau.from_numpy(b), hermitian=hermitian
            ).numpy()
            assert _largest(whole[good] @ x - b) < _digits(dtype) * max(1, _largest(x)) * 10


def test_ldl_of_nan() -> None:
    matrices = flambeau.from_numpy(_random((9, 4, 4), "float32"))
    wanted = flambeau.linalg.ldl_factor(matrices).LD
    matrices[3, 0, 0] = float("nan")
    found, _, info = flambeau.linalg.ldl_factor_ex(matrices)
    assert info.tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0]
    others = [i for i in range(9) if i != 3]
    assert flambeau.equal(found[others], wanted[others])
    with pytest.raises(flambeau.linalg.LinAlgError, match=r"batch element 3.*D\[0, 0\]"):
        flambeau.linalg.ldl_factor(matrices)


def _sorted(values: Array) -> Array:
    """Nearest to nearest: by rounded parts, so that conjugates do not change places."""
    keys = np.round(values, 4 - int(np.log10(np.abs(values).max(initial=1) + 1)))
    order = np.lexsort((keys.imag, keys.real), axis=-1)
    return np.take_along_axis(values, order, -1)


def _special(n: int, count: int, dtype: str) -> Array:
    """Random ones, zeros, the identity, nilpotent ones, companions, graded, very small, huge."""
    found = _random((max(count, 12), n, n), dtype)
    found[1], found[2] = 0, np.eye(n)
    found[3] = np.eye(n, k=-1)
    found[4] = np.roll(np.eye(n), 1, 0)  # the roots of 1: without shifts nothing would move
    found[5] *= np.geomspace(1, 1e-3, n)[:, None] * np.geomspace(1, 1e3, n)
    found[6] *= 100 * np.finfo(dtype).tiny
    found[7] *= np.finfo(dtype).max / 1000
    found[8] = np.tril(found[8])
    found[9] = found[9] + _adjoint(found[9])
    found[10] = found[10] - _adjoint(found[10])
    return found[:count]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, *SIZES])
def test_general_eigenvalues(n: int, dtype: str) -> None:
    for count in (0, 1, 9, 37):
        matrix = _special(n, count, dtype)
        sizes = np.maximum(np.abs(matrix).max((-1, -2), initial=0), np.finfo(dtype).tiny)
        wanted = np.linalg.eigvals(_wide(matrix) / sizes[:, None, None])
        for given in _layouts(matrix):
            values, vectors = (t.numpy() for t in flambeau.linalg.eig(given))
            alone = flambeau.linalg.eigvals(given).numpy()
            left = (_wide(matrix) / sizes[:, None, None]) @ vectors
            left = left - vectors * (_wide(values) / sizes[:, None])[:, None, :]
            assert _largest(left) < _digits(dtype)
            assert _largest(np.linalg.norm(vectors, axis=-2) - 1) < _digits(dtype)
            if vectors.size:  # a greatest element is real
                size = np.abs(vectors)
                great = size > size.max(-2, keepdims=True) - _digits(dtype)
                assert _largest(np.where(great, abs(vectors.imag), 1).min(-2)) < _digits(dtype)
            for i in range(count):  # of defective ones no digits are known
                limit = 20 * _digits(dtype) if i != 3 else 0
                assert _largest(_sorted(values[i] / sizes[i]) - _sorted(wanted[i])) <= limit
                assert _largest(_sorted(alone[i] / sizes[i]) - _sorted(wanted[i])) <= limit
            if "complex" not in dtype:
                for found in (values, alone):
                    pairs = found.imag > 0
                    np.testing.assert_array_equal(found[np.roll(pairs, 1, -1)], found[pairs].conj())
                    assert pairs.sum() == (found.imag < 0).sum()


def test_eigenvalues_of_what_is_not_finite() -> None:
    for wrong in (np.nan, np.inf):
        matrices = _random((9, 4, 4), "float32")
        matrices[3, 1, 2] = wrong
        for function in (flambeau.linalg.eig, flambeau.linalg.eigvals):
            with pytest.raises(RuntimeError, match="infinities or NaN"):
                function(flambeau.from_numpy(matrices))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, *SIZES])
def test_exponentials(n: int, dtype: str) -> None:
    for count in COUNTS:
        matrix = _random((count, n, n), dtype) / max(n, 1)
        matrix *= np.geomspace(1e-3, 30, max(count, 1))[:count, None, None].astype(dtype)
        if count > 3:
            matrix[1] = 0
            matrix[2] = np.eye(n, k=1)
        wanted = scipy.linalg.expm(_wide(matrix)) if matrix.size else matrix
        sizes = np.abs(wanted).max((-1, -2), keepdims=True, initial=1)
        growth = 1 + np.abs(matrix).sum(-2).max(-1, initial=0)
        for given in _layouts(matrix):
            found = flambeau.matrix_exp(given).numpy()
            errors = (np.abs(found - wanted) / sizes).max((-1, -2), initial=0)
            assert _largest(errors / growth) < 5 * _digits(dtype)


def test_an_exponential_does_not_feel_its_neighbours() -> None:
    matrices = _random((16, 5, 5), "float32")
    others = matrices.copy()
    others[1::2] *= np.float32(1e3)
    others[3, 2, 2], others[5, 1, 0], others[7, 4, 4] = np.nan, np.inf, -np.inf
    one, other = (flambeau.matrix_exp(flambeau.from_numpy(x)) for x in (matrices, others))
    assert flambeau.equal(one[::2], other[::2])
    assert other[[3, 5, 7]].isnan().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_reflections(dtype: str) -> None:
    for m, n in ((1, 1), (4, 4), (8, 8), (8, 3), (16, 16), (17, 5)):
        for count in COUNTS:
            matrix = _random((count, m, n), dtype)
            for given in _layouts(matrix):
                vectors, tau = flambeau.geqrf(given)
                q = flambeau.linalg.householder_product(vectors, tau).numpy()
                assert _largest(_adjoint(q) @ q - np.eye(n)) < _digits(dtype)
                assert _largest(q @ np.triu(vectors.numpy()[:, :n]) - matrix) < _digits(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_products_with_reflections(transpose: bool, left: bool, dtype: str) -> None:
    for m, n, sides in ((1, 1, 1), (4, 4, 4), (8, 3, 5), (16, 16, 2), (17, 5, 3), (4, 2, 20)):
        for count in COUNTS:
            vectors, tau = flambeau.geqrf(flambeau.from_numpy(_random((count, m, n), dtype)))
            whole = np.zeros((count, m, m), dtype)
            whole[..., :n] = vectors.numpy()
            q = flambeau.linalg.householder_product(flambeau.from_numpy(whole), tau).numpy()
            q = _adjoint(q) if transpose else q
            side = _random((count, m, sides) if left else (count, sides, m), dtype, 1)
            for b in _layouts(side):
                found = flambeau.ormqr(vectors, tau, b, left=left, transpose=transpose).numpy()
                wanted = q @ side if left else side @ q
                assert _largest(found - wanted) < _digits(dtype)
