"""Products of sparse matrices and functions of their values, against SciPy and differences."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import flambeau as torch
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.codegen.model.entries import Kind
from flambeau.codegen.read.loader import library_declarations

RANDOM = np.random.default_rng(5)


def pair(rows: int, columns: int, count: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    """A sparse matrix with places listed more than once, here and in SciPy."""
    places = np.stack([RANDOM.integers(0, rows, count), RANDOM.integers(0, columns, count)])
    values = RANDOM.standard_normal(count).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values += (1j * RANDOM.standard_normal(count)).astype(dtype)
    ours = torch.sparse_coo_tensor(
        torch.from_numpy(places), torch.from_numpy(values), (rows, columns)
    )
    return ours, scipy.sparse.coo_matrix((values, places), (rows, columns))


# More columns than are summed up at once, one row that holds all, no places at all.
SHAPES = [(7, 5, 30, 3), (1, 900, 700, 1300), (900, 1, 700, 4), (40, 30, 0, 2), (3, 4, 9, 0)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize(("rows", "inner", "count", "width"), SHAPES)
def test_sparse_times_strided(rows: int, inner: int, count: int, width: int, dtype: Any) -> None:
    a, A = pair(rows, inner, count, dtype)
    dense = RANDOM.standard_normal((width, inner)).astype(dtype)
    rounding = 1e-3 if dtype in (np.float32, np.complex64) else 1e-12
    found = a @ torch.from_numpy(dense).T
    np.testing.assert_allclose(found.numpy(), A @ dense.T, rtol=1e-7, atol=rounding)
    left = RANDOM.standard_normal((width, rows)).astype(dtype)
    for found in (torch.from_numpy(left) @ a, torch.mm(torch.from_numpy(left), a)):
        assert not found.is_sparse
        np.testing.assert_allclose(found.numpy(), left @ A, rtol=1e-7, atol=rounding)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_summed_up_in_float(dtype: Any) -> None:
    ones = torch.sparse_coo_tensor(
        torch.stack([torch.zeros(4096, dtype=torch.int64), torch.arange(4096)]),
        torch.ones(4096, dtype=dtype),
        (1, 4096),
    )
    assert (ones @ torch.ones(4096, 2, dtype=dtype)).tolist() == [[4096.0, 4096.0]]


def test_gradients_of_both_sides() -> None:
    a, _ = pair(5, 4, 9)
    right = torch.from_numpy(RANDOM.standard_normal((4, 3))).requires_grad_()
    places = a._indices()

    def product(values: Any, other: Any) -> Any:
        return torch.sparse.mm(torch._C._internal.sparse_make(places, values, [5, 4]), other)

    values = a._values().clone().requires_grad_()
    assert gradcheck(product, (values, right))
    assert gradgradcheck(product, (values, right))


def test_a_sparse_gradient_has_the_places() -> None:
    a, A = pair(6, 5, 8)
    a = a.coalesce().detach().requires_grad_()
    right = RANDOM.standard_normal((5, 2))
    weights = RANDOM.standard_normal((6, 2))
    (torch.sparse.mm(a, torch.from_numpy(right)) * torch.from_numpy(weights)).sum().backward()
    assert a.grad is not None and a.grad.is_sparse
    np.testing.assert_array_equal(a.grad.coalesce().indices().numpy(), a.indices().numpy())
    mask = np.zeros((6, 5))
    mask[A.row, A.col] = 1
    np.testing.assert_allclose(a.grad.to_dense().numpy(), weights @ right.T * mask)


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_sampled_addmm(beta: float) -> None:
    a, A = pair(6, 5, 8)
    left, right = RANDOM.standard_normal((6, 3)), RANDOM.standard_normal((3, 5))
    mask = np.zeros((6, 5))
    mask[A.row, A.col] = 1
    a = a.coalesce().detach().requires_grad_()
    x, y = (torch.from_numpy(side).requires_grad_() for side in (left, right))
    found = torch.sparse.sampled_addmm(a, x, y, beta=beta, alpha=2)
    wanted = (beta * A.toarray() + 2 * left @ right) * mask
    np.testing.assert_allclose(found.to_dense().detach().numpy(), wanted, rtol=1e-12)
    weights = RANDOM.standard_normal((6, 5))
    (found.to_dense() * torch.from_numpy(weights)).sum().backward()
    assert x.grad is not None and y.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * (weights * mask) @ right.T)
    np.testing.assert_allclose(y.grad.numpy(), 2 * left.T @ (weights * mask))
    if beta:
        assert a.grad is not None
        np.testing.assert_allclose(a.grad.to_dense().numpy(), beta * weights * mask)
    with pytest.raises(TypeError, match="layout sparse_coo, not a strided one"):
        torch.sparse.sampled_addmm(x, x, y)
    with pytest.raises(RuntimeError, match="the shape of the sparse one"):
        torch.sparse.sampled_addmm(a, y, x)


def test_memory_follows_the_result() -> None:
    """Not places times columns: here 8 GB, for a result of 16 MB."""
    count, width = 1_000_000, 2000
    a = torch.sparse_coo_tensor(
        torch.from_numpy(RANDOM.integers(0, 1000, (2, count))), torch.ones(count), (1000, 1000)
    )
    right = torch.ones(1000, width, requires_grad=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = a @ right
    result.sum().backward()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 1_000_000, f"{grown} kB more"
    per_row = np.bincount(a._indices()[0].numpy(), minlength=1000)
    np.testing.assert_array_equal(result.detach().numpy()[:, 7], per_row)
    assert right.grad is not None
    per_column = np.bincount(a._indices()[1].numpy(), minlength=1000)
    np.testing.assert_array_equal(right.grad.numpy()[:, 11], per_column)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize(
    ("rows", "inner", "columns", "counts"),
    [(6, 5, 7, (15, 12)), (1, 300, 200, (400, 900)), (3, 4, 5, (0, 6)), (2, 0, 3, (0, 0))],
)
def test_sparse_times_sparse(
    rows: int, inner: int, columns: int, counts: tuple[int, int], dtype: Any
) -> None:
    if inner == 0:
        a, b = torch.zeros(rows, 0).to_sparse(), torch.zeros(0, columns).to_sparse()
        found = a @ b
        assert found.is_sparse and found.shape == (rows, columns) and found._nnz() == 0
        return
    (a, A), (b, B) = pair(rows, inner, counts[0], dtype), pair(inner, columns, counts[1], dtype)
    wanted = A.tocsr() @ B.tocsr()
    for found in (a @ b, torch.mm(a, b), torch.matmul(a, b), torch.sparse.mm(a, b)):
        assert found.is_sparse and found.is_coalesced() and found._nnz() == wanted.nnz
        counted = (found.indices()[0] * columns + found.indices()[1]).numpy()
        assert (np.diff(counted) > 0).all()
        np.testing.assert_allclose(
            found.to_dense().numpy(), wanted.toarray(), rtol=1e-4 if dtype is np.float32 else 1e-12
        )


def test_sizes_that_no_memory_could_hold_strided() -> None:
    places = [[0, 2**31 - 1], [2**30, 5]]
    a = torch.sparse_coo_tensor(places, [2.0, 3.0], (2**31, 2**31))
    b = torch.sparse_coo_tensor([[5, 2**30], [7, 2**31 - 1]], [10.0, 100.0], (2**31, 2**31))
    found = a @ b
    assert found.indices().tolist() == [[0, 2**31 - 1], [2**31 - 1, 7]]
    assert found.values().tolist() == [200.0, 30.0]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradients_of_sparse_times_sparse(dtype: Any) -> None:
    (a, _), (b, _) = pair(4, 5, 7, dtype), pair(5, 3, 8, dtype)
    mine, theirs = a._indices(), b._indices()
    make = torch._C._internal.sparse_make

    def product(left: Any, right: Any) -> Any:
        return (make(mine, left, [4, 5]) @ make(theirs, right, [5, 3])).to_dense()

    values = (a._values().clone().requires_grad_(), b._values().clone().requires_grad_())
    assert gradcheck(product, values)
    assert gradgradcheck(product, values)


def test_what_does_not_multiply() -> None:
    a, _ = pair(4, 5, 7)
    with pytest.raises(RuntimeError, match="matrices that multiply"):
        a @ a
    with pytest.raises(RuntimeError, match="matrices that multiply"):
        torch.mm(a, torch.ones(4, 2, dtype=torch.float64))


def test_overwritten_places_are_refused() -> None:
    a, _ = pair(4, 4, 7)
    a._indices().fill_(10**9)
    for use in (lambda: a @ a, lambda: a @ torch.ones(4, 2, dtype=torch.float64)):
        with pytest.raises((RuntimeError, IndexError)):
            use()


# Functions of the values ----------------------------------------------------------------------


def functions_that_keep_zeros() -> list[str]:
    """The pointwise methods of one tensor, of which some entry says that they take sparse ones."""
    operators = library_declarations().operators
    sparse = {o.name for o in operators if o.layouts and "method" in o.variants}
    found = {
        o.name: o
        for o in operators
        if o.kind is Kind.POINTWISE and o.name in sparse and len(o.signature.arguments) == 1
    }
    return sorted(found)


def test_some_functions_keep_zeros_and_others_do_not() -> None:
    """PyTorch documents these for sparse tensors; exp and cos would fill them."""
    documented = (
        *("abs", "neg", "sin", "tanh", "sqrt", "relu", "sign", "sgn", "expm1", "log1p", "asin"),
        *("atan", "sinh", "asinh", "atanh", "tan", "erf", "erfinv", "ceil", "floor", "round"),
        *("trunc", "frac", "deg2rad", "rad2deg", "isnan", "isinf", "isposinf", "isneginf"),
        *("signbit", "square", "absolute", "negative", "arcsin", "arctan", "arcsinh", "arctanh"),
    )
    a = torch.tensor([[0.0, 0.5], [0.25, 0.0]]).to_sparse()
    for name in documented:
        found = getattr(torch, name)(a)
        assert found.is_sparse and found._nnz() == 2, name
        wanted = getattr(torch, name)(a.to_dense())
        assert found.dtype is wanted.dtype and torch.equal(found.to_dense(), wanted), name
        assert torch.equal(getattr(a, name)().to_dense(), wanted), name
    for name in ("exp", "cos", "sigmoid", "logical_not", "reciprocal"):
        with pytest.raises(TypeError, match="layout sparse_coo"):
            getattr(torch, name)(a)


@pytest.mark.parametrize("name", functions_that_keep_zeros())
def test_functions_of_the_values(name: str) -> None:
    """Of values that are listed twice the function of the sum is taken."""
    a = torch.sparse_coo_tensor([[1, 0, 1], [2, 1, 2]], [0.25, 0.5, 0.375], (2, 3))
    found = getattr(a, name)()
    dense = getattr(a.to_dense(), name)()
    assert found.is_sparse and found.dtype is dense.dtype
    np.testing.assert_array_equal(found.to_dense().numpy(), dense.numpy())


@pytest.mark.parametrize("name", ["sin", "sqrt", "tanh", "log1p", "abs", "square"])
def test_gradients_flow_through_the_values(name: str) -> None:
    places = torch.tensor([[1, 0, 1], [2, 1, 2]])

    def weighted(values: Any) -> Any:
        made = torch._C._internal.sparse_make(places, values, [2, 3])
        return getattr(made, name)().to_dense()

    values = torch.tensor([0.25, 0.5, 0.375], dtype=torch.float64, requires_grad=True)
    assert gradcheck(weighted, (values,))
    leaf = torch.sparse_coo_tensor([[0, 1], [1, 2]], [0.5, 0.25], (2, 3)).coalesce()
    leaf = leaf.detach().requires_grad_()
    getattr(leaf, name)().sum().backward()
    assert leaf.grad is not None and leaf.grad.is_sparse


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_products_reduced_in_each_row(reduce: str) -> None:
    """Of what the matrix lists, once where it lists a place twice; 0 in a row of none."""
    ours, theirs = pair(6, 5, 12)
    theirs = theirs.tocsr()
    dense = RANDOM.standard_normal((5, 3))
    expected = np.zeros((6, 3))
    function = {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
    for i in range(6):
        row = theirs[i].tocoo()
        if row.nnz:
            expected[i] = function(row.data[:, None] * dense[row.col], axis=0)
    found = torch.sparse.mm(ours, torch.tensor(dense), reduce)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
    assert gradcheck(
        lambda m: torch.sparse.mm(ours, m, reduce), torch.randn(5, 3).double().requires_grad_()
    )


def test_reductions_of_products_are_named() -> None:
    with pytest.raises(ValueError, match=r"sparse.mm\(\): expected reduce to be 'sum', "):
        torch.sparse.mm(torch.eye(2).to_sparse(), torch.eye(2), "prod")
