"""Tensors of layout sparse_coo against SciPy's sparse matrices and NumPy."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.special

import flambeau as torch

RANDOM = np.random.default_rng(3)


def pair(rows: int, columns: int, count: int) -> tuple[Any, Any]:
    """A sparse matrix with places listed more than once, here and in SciPy."""
    places = np.stack([RANDOM.integers(0, rows, count), RANDOM.integers(0, columns, count)])
    values = RANDOM.standard_normal(count)
    ours = torch.sparse_coo_tensor(
        torch.from_numpy(places), torch.from_numpy(values), (rows, columns)
    )
    return ours, scipy.sparse.coo_matrix((values, places), (rows, columns))


def test_elements_and_coalescing() -> None:
    ours, theirs = pair(5, 7, 40)
    np.testing.assert_allclose(ours.to_dense().numpy(), theirs.toarray())
    assert not ours.is_coalesced() and ours._nnz() == 40
    summed = theirs.tocsr().tocoo()
    found = ours.coalesce()
    assert found.is_coalesced() and found.coalesce() is found
    np.testing.assert_array_equal(found.indices().numpy(), np.stack([summed.row, summed.col]))
    np.testing.assert_allclose(found.values().numpy(), summed.data)
    with pytest.raises(RuntimeError, match="coalesce"):
        ours.values()


@pytest.mark.parametrize("shape", [(5, 7), (0, 3), (3, 0), (1, 1)])
def test_from_strided_and_back(shape: tuple[int, ...]) -> None:
    array = RANDOM.integers(-1, 2, shape).astype(np.float32)
    ours = torch.from_numpy(array.copy()).to_sparse()
    theirs = scipy.sparse.coo_matrix(array)
    assert ours.is_sparse and ours.layout is torch.sparse_coo and ours.is_coalesced()
    assert ours._nnz() == theirs.nnz
    np.testing.assert_array_equal(ours.to_dense().numpy(), array)


def test_dense_dims() -> None:
    values = RANDOM.standard_normal((3, 2, 4))
    ours = torch.sparse_coo_tensor([[0, 2, 0]], torch.from_numpy(values), (3, 2, 4))
    wanted = np.zeros((3, 2, 4))
    np.add.at(wanted, [0, 2, 0], values)
    assert (ours.sparse_dim(), ours.dense_dim(), ours.ndim) == (1, 2, 3)
    np.testing.assert_allclose(ours.to_dense().numpy(), wanted)
    np.testing.assert_allclose(ours.transpose(1, 2).to_dense().numpy(), wanted.transpose(0, 2, 1))
    np.testing.assert_allclose(torch.sparse.sum(ours, 1).to_dense().numpy(), wanted.sum(1))
    np.testing.assert_allclose(torch.sparse.sum(ours, [0, 2]).numpy(), wanted.sum((0, 2)))
    with pytest.raises(RuntimeError, match="both be sparse or both dense"):
        ours.transpose(0, 1)


def test_arithmetic_is_scipys() -> None:
    (a, A), (b, B) = pair(6, 4, 15), pair(6, 4, 15)
    dense = RANDOM.standard_normal((6, 4))
    strided = torch.from_numpy(dense)
    wanted = {
        "sum": (a + b, A + B),
        "difference": (a - b, A - B),
        "scaled": (a * 2.5, A * 2.5),
        "scaled from the left": (2.5 * a, A * 2.5),
        "divided": (a / 4, A / 4),
        "negative": (-a, -A),
        "product": (a * b, A.multiply(B)),
        "masked product": (a * strided, A.multiply(dense)),
        "masked product from the left": (strided * a, A.multiply(dense)),
        "transpose": (a.t(), A.T),
        "weighted sum": (torch.add(a, b, alpha=3), A + 3 * B),
    }
    for name, (found, target) in wanted.items():
        assert found.is_sparse, name
        np.testing.assert_allclose(found.to_dense().numpy(), target.toarray(), err_msg=name)
    np.testing.assert_allclose((strided + a).numpy(), dense + A.toarray())
    np.testing.assert_allclose((strided - a).numpy(), dense - A.toarray())
    np.testing.assert_allclose((a * b).coalesce()._nnz(), A.tocsr().multiply(B.tocsr()).nnz)


@pytest.mark.parametrize(("rows", "columns", "count"), [(6, 4, 15), (3, 5, 0), (0, 4, 0)])
def test_products_are_scipys(rows: int, columns: int, count: int) -> None:
    a, A = pair(rows, columns, count) if rows else (torch.sparse_coo_tensor((0, 4)).double(), None)
    dense = RANDOM.standard_normal((columns, 3))
    wanted = A @ dense if A is not None else np.zeros((0, 3))
    right = torch.from_numpy(dense)
    for found in (a @ right, torch.mm(a, right), torch.sparse.mm(a, right), torch.spmm(a, right)):
        np.testing.assert_allclose(found.numpy(), wanted)
    np.testing.assert_allclose((a @ right[:, 0]).numpy(), wanted[:, 0])
    np.testing.assert_allclose(torch.mv(a, right[:, 0]).numpy(), wanted[:, 0])
    start = RANDOM.standard_normal((rows, 3))
    found = torch.sparse.addmm(torch.from_numpy(start), a, right, beta=0.5, alpha=2)
    np.testing.assert_allclose(found.numpy(), 0.5 * start + 2 * wanted)


def test_sums() -> None:
    a, A = pair(6, 4, 20)
    array = A.toarray()
    np.testing.assert_allclose(a.sum().numpy(), array.sum())
    np.testing.assert_allclose(torch.sparse.sum(a).numpy(), array.sum())
    for dim in (0, 1, -1):
        np.testing.assert_allclose(torch.sparse.sum(a, dim).to_dense().numpy(), array.sum(dim))
    with pytest.raises(IndexError, match="out of range"):
        torch.sparse.sum(a, 2)
    with pytest.raises(RuntimeError, match="twice"):
        torch.sparse.sum(a, [0, -2])


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_of_what_is_listed(dim: int) -> None:
    a, A = pair(6, 4, 14)
    listed = A.tocsr().toarray()
    logits = np.where(_mask(A), listed, -np.inf)
    with np.errstate(all="ignore"):
        wanted = np.nan_to_num(scipy.special.softmax(logits, axis=dim))
    np.testing.assert_allclose(torch.sparse.softmax(a, dim).to_dense().numpy(), wanted)
    logarithm = torch.sparse.log_softmax(a, dim).coalesce()
    rows, columns = logarithm.indices().numpy()
    np.testing.assert_allclose(logarithm.values().numpy(), np.log(wanted[rows, columns]))


def _mask(matrix: Any) -> Any:
    mask = np.zeros(matrix.shape, bool)
    mask[matrix.row, matrix.col] = True
    return mask


def test_conversions() -> None:
    a, A = pair(5, 3, 9)
    assert a.to(torch.float64) is a and a.float().dtype is torch.float32
    assert a.to("cpu") is a and a.half().is_sparse and a.float().double().dtype is torch.float64
    np.testing.assert_allclose(a.float().to_dense().numpy(), A.toarray(), rtol=1e-6)
    same = a.detach()
    assert same is not a and not same.requires_grad
    copied = a.clone().mul_(2)
    np.testing.assert_allclose(copied.to_dense().numpy(), 2 * A.toarray())
    np.testing.assert_allclose(a.to_dense().numpy(), A.toarray())
    assert copied.zero_()._nnz() == 0 and copied.shape == a.shape


def test_copies_and_pickles() -> None:
    a, A = pair(5, 3, 9)
    a.requires_grad_()
    file = io.BytesIO()
    torch.save({"a": a.detach(), "layout": torch.sparse_coo}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["layout"] is torch.sparse_coo
    for found in (loaded["a"], copy.deepcopy(a), copy.copy(a), pickle.loads(pickle.dumps(a))):
        assert found.is_sparse and not found.is_coalesced()
        np.testing.assert_allclose(found.detach().to_dense().numpy(), A.toarray())
    assert copy.deepcopy(a).requires_grad


def test_text() -> None:
    a = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), requires_grad=True)
    assert repr(a) == (
        "tensor(indices=tensor([[0, 1]]),\n       values=tensor([1., 2.]),\n"
        "       size=(3,), nnz=2, layout=flambeau.sparse_coo, requires_grad=True)"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[5]], [1.0], (3,)), "index 5 in row 0 .* out of range for 3"),
        (([[-1]], [1.0]), "index -1 in row 0 .* out of range"),
        (([[0, 1]], [1.0], (3,)), "a value for each column"),
        (([[0], [1]], [1.0], (3,)), "fewer dims"),
        (([[0]], [1.0], (3, 2)), "has 2 dims"),
        (([[0]], [[1.0, 2.0]], (3, 4)), "do not fill the dense dims"),
        (([[0.5]], [1.0]), "must be integers"),
        (([[0], [1]], [1.0], (2**40, 2**40)), "64 bits"),
        (((-1, 2),), "negative"),
    ],
)
def test_what_cannot_be_made(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_coo_tensor(*arguments)


def test_claims_are_checked_where_asked() -> None:
    with pytest.raises(RuntimeError, match="not in order"):
        torch.sparse_coo_tensor(
            [[1, 0]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True
        )


def test_indices_that_were_overwritten_are_refused() -> None:
    """The memory of places is shared: what reads them checks them."""
    a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    a._indices().fill_(10**9)
    strided = torch.ones(2, 2)
    for use in (
        a.to_dense, lambda: a @ strided, lambda: a.t(), lambda: a + a, lambda: strided + a,
        lambda: strided.add_(a), lambda: strided.sparse_mask(a), lambda: a * strided,
    ):  # fmt: skip
        with pytest.raises((RuntimeError, IndexError)):
            use()
