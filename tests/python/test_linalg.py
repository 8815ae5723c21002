"""Linear algebra: derivatives of what symmetric matrices and gauges hide from generated tests, the
LAPACK behind it, failures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, linalg
from flambeau.autograd import gradcheck, gradgradcheck

DTYPES = [flambeau.float64, flambeau.complex128]


def random(*shape: int, dtype: flambeau.dtype = flambeau.float64, seed: int = 0) -> Tensor:
    """Normal numbers, the same for each seed."""
    flambeau.manual_seed(seed)
    return flambeau.randn(*shape, dtype=dtype).requires_grad_()


def hermitian(x: Tensor) -> Tensor:
    return x + x.mH


def definite(x: Tensor) -> Tensor:
    return x @ x.mH + flambeau.eye(x.shape[-1], dtype=x.dtype)


def projections(vectors: Tensor) -> Tensor:
    """What of unit vectors in columns does not change where one is multiplied by a phase."""
    return vectors.unsqueeze(-2) * vectors.conj().unsqueeze(-3)


def svd_parts(x: Tensor) -> tuple[Tensor, ...]:
    """Likewise of pairs of singular vectors."""
    U, S, Vh = linalg.svd(x, full_matrices=False)
    pairs = U.unsqueeze(-1) * Vh.unsqueeze(-3)
    return projections(U), S, projections(Vh.mH), pairs.movedim(-2, -1)


def eig_parts(x: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = linalg.eig(x)
    return values, projections(vectors)


def eigh_parts(x: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = linalg.eigh(hermitian(x))
    return values, projections(vectors)


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Any], tuple[int, ...]]] = {
    "cholesky": (lambda x: linalg.cholesky(definite(x)), (2, 3, 3)),
    "cholesky, upper": (lambda x: linalg.cholesky(definite(x), upper=True), (3, 3)),
    "cholesky_solve": (lambda x: flambeau.cholesky_solve(x, linalg.cholesky(definite(x))), (3, 3)),
    "cholesky_inverse": (lambda x: flambeau.cholesky_inverse(definite(x)), (3, 3)),
    "eigh": (eigh_parts, (3, 3)),
    "eigh of a batch": (eigh_parts, (2, 3, 3)),
    "eigvalsh": (lambda x: linalg.eigvalsh(hermitian(x)), (2, 3, 3)),
    "eig": (eig_parts, (3, 3)),
    "svd": (svd_parts, (3, 3)),
    "svd, tall": (svd_parts, (4, 2)),
    "svd, wide": (svd_parts, (2, 4)),
    "pinv, hermitian": (lambda x: linalg.pinv(hermitian(x), hermitian=True), (3, 3)),
    "pinv, tall": (linalg.pinv, (4, 3)),
    "lstsq, tall": (lambda x: linalg.lstsq(x, 2 * x[:, :1] + 1, driver="gelsd")[:2], (4, 3)),
    "lstsq, wide": (lambda x: linalg.lstsq(x, x[:, :2] * x[:, :2]).solution, (2, 4)),
    "matrix_norm": (lambda x: linalg.matrix_norm(x, 2), (3, 4)),
    "nuclear": (lambda x: linalg.matrix_norm(x, "nuc"), (3, 4)),
    "cond": (linalg.cond, (3, 3)),
    "logdet": (lambda x: flambeau.logdet(definite(x)), (3, 3)),
    "multi_dot": (lambda x: linalg.multi_dot([x, x.mT, x]), (3, 4)),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name: str, dtype: flambeau.dtype) -> None:
    function, shape = FUNCTIONS[name]
    x = random(*shape, dtype=dtype, seed=3)
    assert gradcheck(function, (x,), check_forward_ad=True)
    assert gradgradcheck(function, (x,))


def test_values_of_coinciding_singular_values_have_a_gradient() -> None:
    x = flambeau.eye(3, dtype=flambeau.float64).requires_grad_()
    linalg.svd(x).S.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)


def test_small_singular_values_of_square_matrices_enlarge_no_rounding() -> None:
    """Weights of rows of square U, and of V, do not depend on the matrix: all derivatives are 0."""
    left, right = (linalg.qr(random(3, 3, seed=seed))[0].detach() for seed in (1, 2))
    sizes, weights = flambeau.tensor([[4.0, 2.0, 1e-9], [1.0, 2.0, 3.0]], dtype=flambeau.float64)
    x = (left @ flambeau.diag(sizes) @ right).requires_grad_()
    U, _, Vh = linalg.svd(x)
    weighed = (U * U * weights[:, None]).sum() + (Vh * Vh * weights).sum()
    (slope,) = flambeau.autograd.grad(weighed, x, create_graph=True)
    (curvature,) = flambeau.autograd.grad((slope * weights).sum(), x)
    tangent = flambeau.func.jvp(lambda a: linalg.svd(a)[0], (x.detach(),), (left,))[1]
    assert float(slope.detach().abs().max()) < 1e-13
    assert float(curvature.abs().max()) < 1e-12
    assert float((U.mT @ tangent + tangent.mT @ U).detach().abs().max()) < 1e-13


def test_gradient_of_a_singular_determinant() -> None:
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])
    x = flambeau.from_numpy(values.copy()).requires_grad_()
    linalg.det(x).backward()
    cofactors = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            minor = np.delete(np.delete(values, i, 0), j, 1)
            cofactors[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(x.grad.numpy(), cofactors, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("hermitian_", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_ldl(dtype: flambeau.dtype, hermitian_: bool) -> None:
    x = random(2, 5, 5, dtype=dtype).detach()
    x = hermitian(x) if hermitian_ else x + x.mT
    b = random(5, 3, dtype=dtype, seed=1).detach()
    solved = linalg.ldl_solve(*linalg.ldl_factor(x, hermitian=hermitian_), b, hermitian=hermitian_)
    np.testing.assert_allclose((x @ solved).numpy(), b.expand(2, 5, 3).numpy(), atol=1e-10)


def test_ldl_refuses_pivots_of_no_factorization() -> None:
    pivots = flambeau.tensor([9, 1], dtype=flambeau.int32)
    with pytest.raises(RuntimeError, match="pivots"):
        linalg.ldl_solve(flambeau.eye(2), pivots, flambeau.eye(2))


def test_failures() -> None:
    zeros = flambeau.zeros(3, 2, 2)
    for function in (linalg.inv, linalg.cholesky, linalg.lu_factor, linalg.ldl_factor):
        with pytest.raises(linalg.LinAlgError, match=rf"^linalg\.{function.__name__}\(\): "):
            function(zeros)
    with pytest.raises(linalg.LinAlgError, match=r"solve\(\): \(batch element 0\)"):
        linalg.solve(zeros, flambeau.ones(3, 2, 1))
    assert issubclass(linalg.LinAlgError, RuntimeError)
    assert linalg.cholesky_ex(zeros).info.tolist() == [1, 1, 1]
    with pytest.raises(linalg.LinAlgError, match="infinities or NaN"):
        linalg.svd(flambeau.full((2, 2), float("nan")))
    with pytest.raises(RuntimeError, match="infinities or NaN"):
        linalg.eig(flambeau.full((2, 2), float("inf")))


@pytest.mark.parametrize("shape", [(2, 2), (5, 3), (60, 60), (60, 80)])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.complex64])
def test_an_infinity_leaves_no_singular_values(
    shape: tuple[int, int], dtype: flambeau.dtype
) -> None:
    """With vectors and without, so that a gradient which is wanted changes nothing."""
    x = random(2, *shape, dtype=dtype).detach()
    x[1, 0, 1] = float("inf")
    good = np.linalg.svd(x[0].numpy())[1]
    for given in (x, x.clone().requires_grad_()):
        assert linalg.matrix_rank(given).tolist() == [min(shape), 0]
        for values in (linalg.svdvals(given), linalg.svd(given).S):
            np.testing.assert_allclose(values[0].detach().numpy(), good, rtol=1e-3)
            assert bool(values[1].isnan().all())
        assert bool(linalg.matrix_norm(given, 2)[1].isnan())
        assert bool(linalg.svd(given)[0][1].isnan().all())
    x[1, 0, 0] = float("nan")
    with pytest.raises(linalg.LinAlgError, match=r"\(matrix 1\).*infinities or NaN"):
        linalg.matrix_rank(x)


def test_halves_and_integers_are_refused() -> None:
    for dtype in (flambeau.float16, flambeau.bfloat16, flambeau.int64):
        for function in (linalg.inv, linalg.svd, linalg.eigh, linalg.qr, linalg.cholesky):
            with pytest.raises(RuntimeError, match="dtype"):
                function(flambeau.ones(2, 2).to(dtype))


def test_many_matrices_on_threads() -> None:
    x = random(500, 6, 6).detach()
    np.testing.assert_allclose(linalg.inv(x).numpy(), np.linalg.inv(x.numpy()), rtol=1e-6)
    np.testing.assert_allclose(linalg.det(x).numpy(), np.linalg.det(x.numpy()), rtol=1e-8)
    values = linalg.eigvalsh(hermitian(x)).numpy()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(hermitian(x).numpy()), atol=1e-10)


def test_large_matrices() -> None:
    x = random(300, 300).detach()
    b = random(300, 5, seed=1).detach()
    np.testing.assert_allclose((x @ linalg.solve(x, b)).numpy(), b.numpy(), atol=1e-8)
    np.testing.assert_allclose(linalg.svdvals(x).numpy(), np.linalg.svd(x.numpy())[1], rtol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5, 16])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.complex64])
def test_tiny_matrices_side_by_side(dtype: flambeau.dtype, n: int) -> None:
    """A lane of a register each: each chooses pivots of its own, and is singular for itself."""
    x = random(3, 37, n, n, dtype=dtype).detach()
    x[1, 5] = 0
    x[2, 7] = float("nan")
    b = random(3, 37, n, 2, dtype=dtype, seed=1).detach()
    found, info = linalg.solve_ex(x, b)
    inverse, info_of_inverse = linalg.inv_ex(x)
    assert int(info[1, 5]) == 1 and int(info_of_inverse[1, 5]) == 1
    good = np.ones((3, 37), bool)
    good[1, 5] = good[2, 7] = False
    assert not info.numpy()[good].any()
    bound = 1e-9 if dtype is flambeau.float64 else 1e-2
    exact = x.numpy()[good].astype(np.complex128)
    for result, right in ((found, b.numpy()), (inverse, np.broadcast_to(np.eye(n), x.shape))):
        np.testing.assert_allclose(exact @ result.numpy()[good], right[good], atol=bound)
    laid = x.mT.contiguous().mT
    np.testing.assert_array_equal(linalg.lu_factor_ex(laid)[0].numpy(), linalg.lu_factor_ex(x)[0])
    for q, r in (linalg.qr(x), linalg.qr(laid, "complete")):
        np.testing.assert_allclose((q @ r).numpy()[good], x.numpy()[good], atol=1e-5)
        unit = np.broadcast_to(np.eye(n), x.shape)
        np.testing.assert_allclose((q.mH @ q).numpy()[good], unit[good], atol=1e-5)
        np.testing.assert_array_equal(r.numpy()[good], np.triu(r.numpy()[good]))
    p, lower, upper = linalg.lu(x)
    np.testing.assert_allclose((p @ lower @ upper).numpy()[good], x.numpy()[good], atol=1e-5)
    wanted = np.linalg.det(exact)
    scale = 1e-4 * np.abs(wanted).max()
    np.testing.assert_allclose(linalg.det(x).numpy()[good], wanted, atol=scale)
    assert linalg.det(x)[1, 5] == 0


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n", [1, 3, 16])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.complex64])
def test_tiny_definite_matrices_side_by_side(dtype: flambeau.dtype, n: int, upper: bool) -> None:
    x = random(50, n, n, dtype=dtype).detach()
    x = x @ x.mH + flambeau.eye(n, dtype=dtype)
    x[3, n - 1, n - 1] = -1
    x[40, 0, 0] = float("nan")
    found, info = linalg.cholesky_ex(x, upper=upper)
    assert int(info[3]) == n and int(info[40]) == 1
    good = np.ones(50, bool)
    good[[3, 40]] = False
    assert not info.numpy()[good].any()
    factors = np.linalg.cholesky(x.numpy()[good])
    wanted = factors.conj().swapaxes(-1, -2) if upper else factors
    np.testing.assert_allclose(found.numpy()[good], wanted, atol=1e-4)


@pytest.mark.parametrize("shape", [(40, 5, 3), (40, 3, 5), (40, 16, 1), (40, 1, 4)], ids=str)
@pytest.mark.parametrize("scale", [0.0, 1e-310, 1e-170, 1.0, 1e170])
def test_tiny_qr_side_by_side(shape: tuple[int, ...], scale: float) -> None:
    x = random(*shape).detach() * scale
    q, r = linalg.qr(x)
    np.testing.assert_allclose((q @ r).numpy(), x.numpy(), atol=1e-12 * scale + 1e-307)
    unit = np.broadcast_to(np.eye(q.shape[-1]), (40, q.shape[-1], q.shape[-1]))
    np.testing.assert_allclose((q.mH @ q).numpy(), unit, atol=1e-12)


SIZES = [(17, 17), (40, 40), (257, 257), (300, 90), (90, 300), (20, 500), (500, 20)]


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.complex128])
def test_lu_factors_of_all_sizes(shape: tuple[int, int], dtype: flambeau.dtype) -> None:
    """Large matrices are factored by halves, in products."""
    x = random(*shape, dtype=dtype).detach()
    bound = 1e-3 if dtype is flambeau.float32 else 1e-11
    for laid in (x, x.T.contiguous().T):
        p, lower, upper = linalg.lu(laid)
        np.testing.assert_allclose((p @ lower @ upper).numpy(), x.numpy(), atol=bound)
        assert float(lower.abs().max()) <= (1 if dtype is flambeau.float32 else 2**0.5) + 1e-6
        np.testing.assert_array_equal(lower.numpy(), np.tril(lower.numpy()))
        np.testing.assert_array_equal(upper.numpy(), np.triu(upper.numpy()))


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.complex128])
def test_qr_factors_of_all_sizes(shape: tuple[int, int], dtype: flambeau.dtype, mode: str) -> None:
    x = random(*shape, dtype=dtype).detach()
    bound = 1e-4 if dtype is flambeau.float32 else 1e-12
    for laid in (x, x.T.contiguous().T):
        q, r = linalg.qr(laid, mode)
        np.testing.assert_allclose((q @ r).numpy(), x.numpy(), atol=bound * 10)
        np.testing.assert_allclose((q.mH @ q).numpy(), np.eye(q.shape[1]), atol=bound)
        np.testing.assert_array_equal(r.numpy(), np.triu(r.numpy()))
        # As LAPACK chooses signs.
        wanted = np.linalg.qr(x.numpy(), mode)[1]
        np.testing.assert_allclose(np.sign(r.diag().numpy()), np.sign(wanted.diagonal()), atol=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1e-310, 1e-170, 1e170, 1e300])
def test_qr_of_numbers_whose_squares_are_none(scale: float) -> None:
    x = random(50, 30).detach() * scale
    q, r = linalg.qr(x)
    np.testing.assert_allclose((q.mH @ q).numpy(), np.eye(30), atol=1e-12)
    np.testing.assert_allclose((q @ r).numpy(), x.numpy(), atol=1e-12 * scale)


@pytest.mark.parametrize("column", [0, 5, 16, 40, 99])
def test_lu_names_the_first_pivot_that_is_zero(column: int) -> None:
    x = random(100, 100).detach()
    x[:, column] = x[:, :column].sum(1) * 0
    x[:, min(column + 3, 99)] = 0
    factors = linalg.lu_factor_ex(x)
    assert factors.info == column + 1
    assert linalg.det(x) == 0


TRIANGULAR_SYSTEMS = [(9, 3), (32, 9), (33, 200), (150, 129), (100, 1), (550, 2), (530, 30)]


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("size", TRIANGULAR_SYSTEMS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_triangular_systems_of_all_sizes(
    size: tuple[int, int], upper: bool, left: bool, unit: bool, dtype: str
) -> None:
    n, count = size
    kind = getattr(flambeau, dtype)
    a = random(n, n).detach().to(kind) / n + 2 * flambeau.eye(n, dtype=kind)
    b = random(*(size if left else size[::-1]), seed=1).detach().to(kind)
    if kind.is_complex:
        a, b = a + 1j * a.T, b * (1 - 2j)
    triangle = a.triu() if upper else a.tril()
    if unit:
        triangle = triangle - triangle.diag().diag() + flambeau.eye(n, dtype=kind)
    for laid in (a, a.T.contiguous().T):
        for given in (b, b.T.contiguous().T):
            x = linalg.solve_triangular(laid, given, upper=upper, left=left, unitriangular=unit)
            product = triangle @ x if left else x @ triangle
            np.testing.assert_allclose(product.numpy(), b.numpy(), atol=1e-9)
    assert count in x.shape


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 8e306])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_diagonal_whose_reciprocals_are_no_normal_numbers(scale: float, dtype: str) -> None:
    kind = getattr(flambeau, dtype)
    diagonal = scale * flambeau.arange(1, 21, dtype=flambeau.float64).to(kind)
    b = scale * (flambeau.arange(400, dtype=flambeau.float64).reshape(20, 20) / 30).to(kind)
    x = linalg.solve_triangular(diagonal.diag(), b, upper=False)
    expected = np.arange(400).reshape(20, 20) / 30 / np.arange(1, 21)[:, None]
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-11 if scale > 1e-308 else 1e-3)


def test_a_triangle_with_zeros_and_infinities_spreads_them_downwards_only() -> None:
    a = flambeau.eye(20)
    b = flambeau.ones(20, 30)
    b[7] = float("inf")
    x = linalg.solve_triangular(a + flambeau.ones(20, 20).tril(-1), b, upper=False)
    assert bool(x[:7].isfinite().all())
    a[7, 7] = 0
    found = linalg.solve_triangular(a, flambeau.ones(20, 30), upper=False)
    assert bool(found[7].isinf().all())
    assert bool(found[:7].isfinite().all())


def run(program: str) -> str:
    """The output of a program of its own."""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_lapack_is_loaded_on_first_use() -> None:
    program = """
import sys, flambeau
def loaded(): return any(name.startswith("scipy") for name in sys.modules)
before = loaded()
flambeau.linalg.cholesky(flambeau.eye(2))
print(before, "scipy.linalg" in sys.modules)
"""
    assert run(program) == "False False"


@pytest.mark.parametrize("first", ["scipy.linalg", "flambeau.linalg"])
def test_scipy_beside_it(first: str) -> None:
    """The modules that hold LAPACK cannot be loaded twice."""
    program = f"""
import flambeau
if "{first}" == "scipy.linalg":
    import scipy.linalg
a = flambeau.linalg.cholesky(flambeau.eye(2))
import scipy.linalg, scipy.linalg.cython_lapack, scipy.linalg.cython_blas, scipy.optimize
print(a.sum().item(), scipy.linalg.det([[2.0, 0.0], [0.0, 3.0]]))
"""
    assert run(program) == "2.0 6.0"


def test_threads_that_are_first() -> None:
    program = """
import threading, flambeau
x = flambeau.eye(20).expand(2000, 20, 20).contiguous()
found = []
threads = [threading.Thread(target=lambda: found.append(flambeau.linalg.cholesky(x).sum().item()))
           for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(set(found))
"""
    assert run(program) == "{40000.0}"


def test_missing_scipy() -> None:
    program = """
import sys
sys.modules["scipy"] = None
import flambeau
try:
    flambeau.linalg.cholesky(flambeau.eye(2))
except RuntimeError as error:
    print(error)
"""
    assert "pip install 'scipy" in run(program)


def test_integers_of_64_bits() -> None:
    program = """
import ctypes, flambeau
from flambeau import _foreign
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule = new(1, b"void (char *, long *, _d *, long *, long *)", None)
_foreign.find = lambda library, name: capsule
try:
    flambeau.linalg.cholesky(flambeau.eye(2, dtype=flambeau.float64))
except RuntimeError as error:
    print(error)
"""
    assert "int of 32 bits" in run(program)


def test_forked_children() -> None:
    x = random(200, 200).detach()
    wanted = linalg.det(x).item()
    child = os.fork()
    if child == 0:
        os._exit(0 if linalg.det(x).item() == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_multi_dot() -> None:
    shapes = [(10,), (10, 100), (100, 5), (5, 50), (50,)]
    tensors = [random(*shape, seed=i).detach() for i, shape in enumerate(shapes)]
    found = linalg.multi_dot(tensors)
    np.testing.assert_allclose(found.numpy(), np.linalg.multi_dot([t.numpy() for t in tensors]))
    assert found.shape == ()
    out = flambeau.empty(10, 5, dtype=flambeau.float64)
    assert flambeau.chain_matmul(tensors[1].mT.mT, tensors[2], out=out[:, :]) is not None
    for wrong in ([tensors[0]], [tensors[1], tensors[1]], [tensors[1], tensors[0], tensors[2]]):
        with pytest.raises(RuntimeError, match="multi_dot"):
            linalg.multi_dot(wrong)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (2, 20, 15)])
def test_low_rank(shape: tuple[int, ...]) -> None:
    factors = random(*shape[:-1], 3).detach(), random(*shape[:-2], 3, shape[-1], seed=1).detach()
    x = factors[0] @ factors[1]
    U, S, V = flambeau.svd_lowrank(x, q=5)
    assert U.shape == (*shape[:-1], 5) and V.shape == (*shape[:-2], shape[-1], 5)
    np.testing.assert_allclose(((U * S.unsqueeze(-2)) @ V.mT).numpy(), x.numpy(), atol=1e-9)
    U, S, V = flambeau.pca_lowrank(x, q=3)
    centered = x - x.mean(-2, True)
    np.testing.assert_allclose(S.numpy(), linalg.svdvals(centered)[..., :3].numpy(), rtol=1e-9)
    with pytest.raises(ValueError, match=r"svd_lowrank\(\): q = 99"):
        flambeau.svd_lowrank(x, q=99)


@pytest.mark.parametrize("name", ["svdvals", "eigvalsh", "eigvals"])
def test_values_have_one_gradient_wherever_vectors_are_kept(name: str) -> None:
    """Values alone, those of the decomposition with vectors, those of batches."""
    find = getattr(flambeau.linalg, name)

    def total(x: flambeau.Tensor) -> flambeau.Tensor:
        values: flambeau.Tensor = find(x + x.mT)
        return values.abs().sum()

    matrices = flambeau.tensor(np.random.default_rng(0).standard_normal((3, 4, 4)))
    slopes = flambeau.func.vmap(flambeau.func.grad(total))(matrices).numpy()
    tracked = matrices.clone().requires_grad_()
    flambeau.func.vmap(total)(tracked).sum().backward()
    assert tracked.grad is not None
    np.testing.assert_allclose(tracked.grad.numpy(), slopes, rtol=1e-8, atol=1e-10)
    step = np.random.default_rng(1).standard_normal((4, 4))
    ends = [total(matrices[0] + flambeau.tensor(sign * 1e-6 * step)).item() for sign in (1, -1)]
    np.testing.assert_allclose((slopes[0] * step).sum(), (ends[0] - ends[1]) / 2e-6, rtol=1e-5)


def test_singular_values_of_zeros_have_a_gradient() -> None:
    zeros = flambeau.zeros(3, 2, dtype=flambeau.float64).requires_grad_()
    flambeau.linalg.svdvals(zeros).sum().backward()
    assert zeros.grad is not None
    np.testing.assert_allclose((zeros.grad.mT @ zeros.grad).numpy(), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1.0, 1e30])
@pytest.mark.parametrize("rows", [24, 60])
def test_repeated_rows_of_any_scale_have_their_values(rows: int, scale: float) -> None:
    """Matrices of rank 3, whose iterations leave numbers below the normal range; and such numbers
    themselves, which are not lost."""
    tile = np.random.default_rng(0).standard_normal((4, 3))
    matrix = (np.tile(tile, (rows // 4, rows // 3)) * scale).astype(np.float32)
    expected = np.linalg.svd(matrix.astype(np.float64))[1]
    room = 1e-5 * expected[0] + np.finfo(np.float32).smallest_subnormal * rows
    given = flambeau.tensor(matrix)
    for values in (linalg.svdvals(given), linalg.svd(given)[1]):
        np.testing.assert_allclose(values.numpy(), expected, rtol=0, atol=room)
    trace = np.trace(matrix.astype(np.float64))
    np.testing.assert_allclose(linalg.eigvals(given).sum().numpy(), trace, rtol=0, atol=room * rows)
