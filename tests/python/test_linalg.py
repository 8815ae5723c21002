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
flambeau.linalg.inv(flambeau.eye(2))
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
a = flambeau.linalg.inv(flambeau.eye(2))
import scipy.linalg, scipy.linalg.cython_lapack, scipy.linalg.cython_blas, scipy.optimize
print(a.sum().item(), scipy.linalg.det([[2.0, 0.0], [0.0, 3.0]]))
"""
    assert run(program) == "2.0 6.0"


def test_threads_that_are_first() -> None:
    program = """
import threading, flambeau
x = flambeau.eye(20).expand(2000, 20, 20).contiguous()
found = []
threads = [threading.Thread(target=lambda: found.append(flambeau.linalg.inv(x).sum().item()))
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
    flambeau.linalg.inv(flambeau.eye(2))
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
capsule = new(1, b"void (long *, long *, _d *, long *, long *, long *)", None)
_foreign.find = lambda library, name: capsule
try:
    flambeau.linalg.inv(flambeau.eye(2, dtype=flambeau.float64))
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
