"""Where kernels that are written by hand put their result: into `out` itself, unless that lies in
another way or shares memory with what they read; `tril_` over what it reads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

N = 300
CALLS: dict[str, Callable[..., Tensor]] = {
    "cumsum": lambda x, out: flambeau.cumsum(x, 1, out=out),
    "mm": lambda x, out: flambeau.mm(x, x, out=out),
    "gather": lambda x, out: flambeau.gather(x, 1, (x > 0).long(), out=out),
    "cat": lambda x, out: flambeau.cat([x[:100], x[100:]], out=out),
    "tril": lambda x, out: flambeau.tril(x, out=out),
    "inv": lambda x, out: flambeau.linalg.inv(x, out=out),
    "softmax": lambda x, out: flambeau.softmax(x, 1, out=out),
}
REFERENCES: dict[str, Callable[[Any], Any]] = {
    "cumsum": lambda x: np.cumsum(x, 1),
    "mm": lambda x: x @ x,
    "gather": lambda x: np.take_along_axis(x, (x > 0).astype(int), 1),
    "cat": lambda x: x,
    "tril": np.tril,
    "inv": np.linalg.inv,
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
}


def numbers() -> Any:
    return np.random.default_rng(0).standard_normal((N, N)) + 20 * np.eye(N)


def check(name: str, out: Tensor, x: Any) -> None:
    np.testing.assert_allclose(out.numpy(), REFERENCES[name](x), 1e-9, 1e-9)


@pytest.mark.parametrize("name", CALLS)
def test_out_is_written(name: str) -> None:
    """Whatever its layout, and where it lies in more memory, whose rest stays as it is."""
    x = numbers()
    for make in (
        lambda: flambeau.full((N, N), 7.0, dtype=flambeau.float64),
        lambda: flambeau.full((N + 2, N), 7.0, dtype=flambeau.float64)[1:-1],
        lambda: flambeau.full((N, N), 7.0, dtype=flambeau.float64).T,
        lambda: flambeau.full((N, 2 * N), 7.0, dtype=flambeau.float64)[:, ::2],
        lambda: flambeau.empty(0, dtype=flambeau.float64),
    ):
        out = make()
        place, version = out.data_ptr(), out._version
        assert CALLS[name](flambeau.from_numpy(x), out) is out
        check(name, out, x)
        assert out._version == version + 1
        if out.numel() and out.data_ptr() == place and out._base is not None:
            rest = out._base.numel() - out.numel()
            assert (out._base == 7).sum() >= rest


@pytest.mark.parametrize("name", CALLS)
def test_out_is_what_is_read(name: str) -> None:
    """The very same elements, and others of the same memory."""
    x = numbers()
    given = flambeau.from_numpy(x.copy())
    check(name, CALLS[name](given, given), x)
    memory = flambeau.zeros(N + 1, N, dtype=flambeau.float64)
    memory[1:] = flambeau.from_numpy(x)
    check(name, CALLS[name](memory[1:], memory[:-1]), x)


# In a process of its own: where some class takes operators over, results are computed and copied.
MEMORY = """
import flambeau

x, out = flambeau.rand(300, 300), flambeau.empty(300, 300)
for call in (
    lambda: flambeau.mm(x, x, out=out),
    lambda: flambeau.cumsum(x, 1, out=out),
    lambda: flambeau.tril(x, out=out),
    lambda: out.tril_(),
):
    flambeau.cpu.reset_peak_memory_stats()
    before = flambeau.cpu.memory_allocated()
    call()
    assert flambeau.cpu.max_memory_allocated() - before < out.nbytes
"""


def test_out_takes_no_other_memory() -> None:
    subprocess.run([sys.executable, "-c", MEMORY], check=True, timeout=100)


@pytest.mark.parametrize("shape", [(N, N), (50, 3, 5), (2, 40, 70), (0, 4)])
@pytest.mark.parametrize("diagonal", [-2, 0, 3])
def test_triangles_in_place(shape: tuple[int, ...], diagonal: int) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    for keep in ("tril", "triu"):
        expected = getattr(np, keep)(x, diagonal)
        for lies in (lambda t: t, lambda t: t.mT.contiguous().mT):
            given = lies(flambeau.from_numpy(x.copy()))
            getattr(given, f"{keep}_")(diagonal)
            np.testing.assert_array_equal(given.numpy(), expected)
    given = flambeau.from_numpy(x.copy()).requires_grad_()
    copy = given * 1
    copy.tril_(diagonal)
    (slope,) = flambeau.autograd.grad(copy, given, flambeau.ones_like(copy))
    np.testing.assert_array_equal(slope.numpy(), np.tril(np.ones(shape), diagonal))


@pytest.mark.parametrize("batch", [(), (3,)], ids=["addmm", "baddbmm"])
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("beta", [0, 1, -0.5])
def test_sums_of_products_beside_and_over_what_is_added(
    batch: tuple[int, ...], rows: int, beta: float
) -> None:
    shape, name = (*batch, rows, rows), "baddbmm" if batch else "addmm"
    random = np.random.default_rng(0)
    both, a, b = (random.standard_normal(s) for s in ((2, *shape), shape, shape))
    for own, other in ((0, 1), (1, 0)):  # one behind the other in memory
        given = flambeau.from_numpy(both.copy())
        factors = [flambeau.from_numpy(x) for x in (a, b)]
        getattr(flambeau, name)(given[own], *factors, beta=beta, out=given[other])
        np.testing.assert_allclose(given[other].numpy(), beta * both[own] + a @ b, rtol=1e-12)
        np.testing.assert_array_equal(given[own].numpy(), both[own])
    x = both[0]
    for left, right in ((a, b), (x, b), (a, x), (x, x)):
        given = flambeau.from_numpy(x.copy())
        factors = [
            given if factor is x else flambeau.from_numpy(factor) for factor in (left, right)
        ]
        getattr(given, f"{name}_")(*factors, beta=beta)
        np.testing.assert_allclose(given.numpy(), beta * x + left @ right, rtol=1e-12)
