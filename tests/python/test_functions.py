"""Functions of flambeau that are compositions of operators, against NumPy."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.testing import assert_close

rng = np.random.default_rng(0)


def tensor(*shape: int) -> Tensor:
    return flambeau.tensor(rng.normal(size=shape))


EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("iij->ij", [(3, 3, 2)]),
    ("i,j->ij", [(2,), (3,)]),
    ("i,i->", [(3,), (3,)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,jk->...ik", [(2, 5, 3, 4), (4, 6)]),
    ("i...,i...->...", [(3, 2, 4), (3, 1, 4)]),
    ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)]),
    ("ab,b,b->a", [(2, 3), (3,), (3,)]),
    ("ijk,ik,jk->ij", [(2, 3, 4), (2, 4), (3, 4)]),
    ("ij,ik->jk", [(4, 2), (4, 3)]),
    ("ij,kl->ij", [(2, 3), (4, 5)]),
    ("nhld,nhsd->nhls", [(2, 2, 3, 4), (2, 2, 5, 4)]),
    ("zyx->xyz", [(2, 3, 4)]),
    ("ij,ij->ij", [(1, 3), (2, 3)]),
    ("b...,b...->b...", [(2, 3), (2, 3)]),
    ("ij...->...ij", [(2, 3, 4)]),
    ("...,...", [(2, 3), (3,)]),
    ("aB,Bc->ac", [(2, 3), (3, 4)]),
    ("Ab->", [(2, 3)]),
    ("bn,anm,bm->ba", [(2, 5), (3, 5, 4), (2, 4)]),
    ("ij,jk->ik", [(2, 0), (0, 4)]),
    (",", [(), ()]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=[e for e, _ in EQUATIONS])
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    operands = [tensor(*shape) for shape in shapes]
    expected = np.einsum(equation, *(t.numpy() for t in operands))
    result = flambeau.einsum(equation, *operands)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-10, atol=1e-12)


def test_einsum_of_number_lists_and_mistakes() -> None:
    a, b = tensor(2, 3), tensor(3, 4)
    expected = a.numpy() @ b.numpy()
    np.testing.assert_allclose(flambeau.einsum(a, [0, 1], b, [1, 2], [0, 2]).numpy(), expected)
    for equation, message in [
        ("ij->ij", "operands"),
        ("ij,jk->iz", "'z'"),
        ("i,jk->ik", "dimensions"),
        ("ij,ik->jk", "sizes"),
        ("i1,jk->ik", "letter"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            flambeau.einsum(equation, a, b)
    lists = flambeau.einsum(a, [..., 1], b, [1, 2], [..., 2])
    np.testing.assert_allclose(lists.numpy(), expected)
    for arguments, error in [
        ((a, [0, 52], b, [52, 2]), ValueError),
        ((a, [-1, 0]), ValueError),
        ((a, [0.5, 1]), TypeError),
        (("ij,jk->ik", a, 3), TypeError),
        ((3, a), TypeError),
        (("ij",), ValueError),
        (("ij", []), ValueError),
    ]:
        with pytest.raises(error, match=r"einsum\(\)"):
            flambeau.einsum(*arguments)


def test_einsum_has_a_gradient() -> None:
    a = tensor(2, 3).requires_grad_()
    b = tensor(3, 4).requires_grad_()
    assert flambeau.autograd.gradcheck(lambda a, b: flambeau.einsum("ij,jk->ki", a, b), (a, b))


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(indexing: Any) -> None:
    axes = [flambeau.arange(n).double() for n in (2, 3, 4)]
    expected = np.meshgrid(*(a.numpy() for a in axes), indexing=indexing)
    for got, wanted in zip(flambeau.meshgrid(*axes, indexing=indexing), expected, strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted)
    with pytest.raises(RuntimeError, match="dtype"):
        flambeau.meshgrid(axes[0], axes[1].float())


def test_stacks_and_splits() -> None:
    a, b = tensor(3, 4), tensor(3, 4)
    x, y = a.numpy(), b.numpy()
    np.testing.assert_array_equal(flambeau.hstack([a, b]).numpy(), np.hstack([x, y]))
    np.testing.assert_array_equal(flambeau.vstack([a, b]).numpy(), np.vstack([x, y]))
    np.testing.assert_array_equal(flambeau.dstack([a, b]).numpy(), np.dstack([x, y]))
    v, w = a[0], b[0]
    np.testing.assert_array_equal(
        flambeau.column_stack([v, w]).numpy(), np.column_stack([x[0], y[0]])
    )
    np.testing.assert_array_equal(flambeau.hstack([v, w]).numpy(), np.hstack([x[0], y[0]]))
    for name in ("hsplit", "vsplit"):
        parts = getattr(flambeau, name)(a, [1, 3])
        for got, wanted in zip(parts, getattr(np, name)(x, [1, 3]), strict=True):
            np.testing.assert_array_equal(got.numpy(), wanted)
    assert [p.shape for p in flambeau.hsplit(a, 2)] == [(3, 2), (3, 2)]
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        for t in (flambeau.tensor(1.0), v, a):
            got = getattr(flambeau, name)(t)
            np.testing.assert_array_equal(got.numpy(), getattr(np, name)(t.numpy()))


def test_products_and_blocks() -> None:
    a, b = tensor(2, 3, 4), tensor(4, 3, 5)
    np.testing.assert_allclose(
        flambeau.tensordot(a, b, dims=([1, 2], [1, 0])).numpy(),
        np.tensordot(a.numpy(), b.numpy(), ([1, 2], [1, 0])),
    )
    np.testing.assert_allclose(
        flambeau.tensordot(a, b, dims=1).numpy(), np.tensordot(a.numpy(), b.numpy(), 1)
    )
    assert flambeau.tensordot(a, b, 0).shape == (2, 3, 4, 4, 3, 5)
    expected = np.tensordot(a.numpy(), b.numpy(), 1)
    np.testing.assert_allclose(flambeau.tensordot(a, b, flambeau.tensor(1)).numpy(), expected)
    out = flambeau.empty(0, dtype=a.dtype)
    assert flambeau.tensordot(a, b, 1, out=out) is out
    np.testing.assert_allclose(out.numpy(), expected)
    wrong: list[tuple[Any, type[Exception]]] = [
        (-1, RuntimeError),
        (4, RuntimeError),
        (([7], [0]), IndexError),
        (([1, 1], [1, 1]), RuntimeError),
        (([1], [0]), RuntimeError),
        (([1],), ValueError),
        ("ab", RuntimeError),
    ]
    for dims, error in wrong:
        with pytest.raises(error, match=r"tensordot\b"):
            flambeau.tensordot(a, b, dims)
    blocks = flambeau.block_diag(flambeau.ones(1, 2), flambeau.tensor(3.0), flambeau.ones(2, 1))
    assert blocks.tolist() == [[1, 1, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    pairs = flambeau.cartesian_prod(flambeau.tensor([1, 2]), flambeau.tensor([3, 4]))
    assert pairs.tolist() == [[1, 3], [1, 4], [2, 3], [2, 4]]
    chosen = flambeau.combinations(flambeau.tensor([1, 2, 3]), 2)
    assert chosen.tolist() == [[1, 2], [1, 3], [2, 3]]
    many = flambeau.combinations(flambeau.arange(22), 8)
    assert many.tolist() == [list(c) for c in itertools.combinations(range(22), 8)]


def test_broadcasting() -> None:
    assert flambeau.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    a, b = flambeau.broadcast_tensors(flambeau.ones(2, 1), flambeau.ones(3))
    assert a.shape == b.shape == (2, 3)
    with pytest.raises(RuntimeError, match="broadcast"):
        flambeau.broadcast_shapes((2,), (3,))


def test_unique() -> None:
    values = flambeau.tensor([[3, 1], [1, 2], [3, 1]])
    got = flambeau.unique(values, return_inverse=True, return_counts=True)
    wanted = np.unique(values.numpy(), return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(got[0].numpy(), wanted[0])
    np.testing.assert_array_equal(got[1].numpy(), wanted[1].reshape(3, 2))
    np.testing.assert_array_equal(got[2].numpy(), wanted[2])
    rows, counts = flambeau.unique(values, return_counts=True, dim=0)
    assert rows.tolist() == [[1, 2], [3, 1]]
    assert counts.tolist() == [1, 2]
    runs, lengths = flambeau.unique_consecutive(flambeau.tensor([1, 1, 2, 1]), return_counts=True)
    assert runs.tolist() == [1, 2, 1]
    assert lengths.tolist() == [2, 1, 1]
    assert flambeau.unique_consecutive(values, dim=0).tolist() == values.tolist()


def test_nonzero() -> None:
    x = flambeau.tensor([[0, 1], [2, 0]])
    assert flambeau.nonzero(x).tolist() == x.nonzero().tolist() == [[0, 1], [1, 0]]
    rows, columns = x.nonzero(as_tuple=True)
    assert x[rows, columns].tolist() == [1, 2]
    assert flambeau.nonzero(flambeau.tensor(3), as_tuple=False).shape == (1, 0)
    assert [t.tolist() for t in flambeau.nonzero(flambeau.tensor(3), as_tuple=True)] == [[0]]


def test_complex_random_numbers() -> None:
    flambeau.manual_seed(3)
    z = flambeau.randn(200, 100, dtype=flambeau.complex64).numpy()
    assert abs(z.mean()) < 0.03 and abs(z.var() - 1) < 0.05
    assert abs(z.real.var() - 0.5) < 0.03 and abs(np.mean(z.real * z.imag)) < 0.03
    u = flambeau.rand(50, 40, dtype=flambeau.complex128)
    assert u.real.min().item() >= 0 and u.imag.max().item() < 1 and u.imag.min().item() < 0.1
    given = flambeau.zeros(3, 500, dtype=flambeau.complex64)
    assert given.normal_(2, 3) is given
    assert abs(given.numpy().mean() - 2) < 0.5 and abs(given.numpy().std() - 3) < 0.3
    assert given.t().uniform_(-1, 1).shape == (500, 3)
    assert given.imag.min().item() < -0.9


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_limits_of_floats(name: str) -> None:
    ours, theirs = flambeau.finfo(getattr(flambeau, name)), np.finfo(name)
    for field in ("eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(ours, field) == pytest.approx(float(getattr(theirs, field)), rel=1e-3)
    assert ours.bits == theirs.bits
    assert flambeau.finfo(flambeau.bfloat16).max == pytest.approx(3.3895e38, rel=1e-4)
    with pytest.raises(TypeError, match="iinfo"):
        flambeau.finfo(flambeau.int32)


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_limits_of_integers(name: str) -> None:
    ours, theirs = flambeau.iinfo(getattr(flambeau, name)), np.iinfo(name)
    assert (ours.min, ours.max, ours.bits) == (theirs.min, theirs.max, theirs.bits)


def test_questions() -> None:
    x = flambeau.ones(2)
    assert flambeau.is_tensor(x)
    assert not flambeau.is_tensor([1])
    assert flambeau.is_floating_point(x)
    assert flambeau.numel(x) == 2
    assert flambeau.allclose(x, x + 1e-9)
    assert not flambeau.allclose(x, x + 1e-3)
    assert not flambeau.equal(x, flambeau.ones(3))
    assert flambeau.typename(x) == "flambeau.FloatTensor"


def test_fork_rng_restores_the_state() -> None:
    flambeau.manual_seed(3)
    expected = flambeau.rand(3).tolist()
    flambeau.manual_seed(3)
    with flambeau.random.fork_rng():
        flambeau.rand(10)
    assert flambeau.rand(3).tolist() == expected


def test_memory_statistics() -> None:
    before = flambeau.cpu.memory_allocated()
    block = flambeau.ones(1000, 1000)
    assert flambeau.cpu.memory_allocated() - before >= 4_000_000
    assert flambeau.cpu.max_memory_allocated() >= flambeau.cpu.memory_allocated()
    del block
    flambeau.cpu.empty_cache()
    assert isinstance(flambeau.cuda.is_available(), bool)


def test_assert_close() -> None:
    a = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_close(a, a + 1e-7)
    assert_close({"x": [a, 1]}, {"x": [a, 1]})
    with pytest.raises(AssertionError, match=r"1 of 4 .*\(1, 0\)"):
        assert_close(a, flambeau.tensor([[1.0, 2.0], [3.5, 4.0]]))
    with pytest.raises(AssertionError, match="Shapes"):
        assert_close(a, a[0])
    with pytest.raises(AssertionError, match="dtype"):
        assert_close(a, a.double())
    assert_close(a, a.double(), check_dtype=False)
    nan = flambeau.tensor([float("nan")])
    with pytest.raises(AssertionError):
        assert_close(nan, nan)
    assert_close(nan, nan, equal_nan=True)
    with pytest.raises(AssertionError, match="mine"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(ValueError, match="both"):
        assert_close(a, a, rtol=1.0)


@pytest.mark.timed
def test_import_is_quick_and_light() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import flambeau; "
        "print(time.perf_counter() - start, 'numpy' in sys.modules, 'flambeau.nn' in sys.modules)"
    )
    best = 1.0
    for _ in range(3):
        output = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        ).stdout.split()
        assert output[1:] == ["False", "False"]
        best = min(best, float(output[0]))
        time.sleep(0.01)
    assert best < 0.15


@pytest.mark.parametrize("ends", [(1.0, 2j), (0, 1 - 3j), (2j, 2j)])
def test_spacings_of_complex_numbers(ends: tuple[complex, complex]) -> None:
    start, end = ends
    found = flambeau.linspace(start, end, 5, dtype=flambeau.complex128)
    assert flambeau.linspace(start, end, 5).dtype == flambeau.complex64
    np.testing.assert_allclose(np.array(found), np.linspace(start, end, 5), rtol=1e-14)
    powers = flambeau.logspace(start, end, 5, base=2, dtype=flambeau.complex128)
    np.testing.assert_allclose(np.array(powers), np.logspace(start, end, 5, base=2), rtol=1e-13)
