"""Sparse matrices with compressed rows and columns against SciPy's and NumPy."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import flambeau as torch

RANDOM = np.random.default_rng(5)
FULL = RANDOM.integers(-1, 2, (5, 4)).astype(np.float64)
OTHER = RANDOM.integers(-1, 2, (5, 4)).astype(np.float64)


def csr(array: Any) -> Any:
    return torch.from_numpy(array.copy()).to_sparse_csr()


def same_parts(ours: Any, theirs: Any) -> None:
    """The same offsets, places and values as SciPy's matrix."""
    if ours.layout is torch.sparse_csr:
        names = ("crow_indices", "col_indices")
    else:
        names = ("ccol_indices", "row_indices")
    theirs.sort_indices()
    np.testing.assert_array_equal(getattr(ours, names[0])().numpy(), theirs.indptr)
    np.testing.assert_array_equal(getattr(ours, names[1])().numpy(), theirs.indices)
    np.testing.assert_allclose(ours.values().numpy(), theirs.data)
    assert ours.shape == theirs.shape and ours._nnz() == theirs.nnz


@pytest.mark.parametrize("shape", [(5, 7), (0, 3), (3, 0), (1, 1)])
def test_parts_and_conversions(shape: tuple[int, int]) -> None:
    array = RANDOM.integers(-1, 2, shape).astype(np.float32)
    rows, columns = csr(array), torch.from_numpy(array).to_sparse(layout=torch.sparse_csc)
    assert rows.is_sparse_csr and not rows.is_sparse and rows.layout is torch.sparse_csr
    assert columns.layout is torch.sparse_csc and not columns.is_sparse_csr
    same_parts(rows, scipy.sparse.csr_matrix(array))
    same_parts(columns, scipy.sparse.csc_matrix(array))
    same_parts(rows.to_sparse_csc(), scipy.sparse.csc_matrix(array))
    same_parts(columns.to_sparse_csr(), scipy.sparse.csr_matrix(array))
    same_parts(rows.t(), scipy.sparse.csc_matrix(array.T))
    same_parts(columns.transpose(0, 1), scipy.sparse.csr_matrix(array.T))
    assert rows.to_sparse_csr() is rows and rows.to_sparse_coo().is_coalesced()
    for found in (rows, columns, rows.to_sparse(), columns.to_sparse_coo()):
        np.testing.assert_array_equal(found.to_dense().numpy(), array)


def test_operators_keep_the_layout() -> None:
    a, b = csr(FULL), csr(OTHER)
    x, y = scipy.sparse.csr_matrix(FULL), scipy.sparse.csr_matrix(OTHER)
    weights = RANDOM.standard_normal((4, 3))
    product = x.multiply(y).tocsr()
    for ours, theirs in [
        (a + b, FULL + OTHER),
        (a - b, FULL - OTHER),
        (a * b, product.toarray()),
        (2 * a / 4, FULL / 2),
        (a.sin(), np.sin(FULL)),
        (a @ b.t(), FULL @ OTHER.T),
        (torch.sparse.sampled_addmm(a, *map(torch.ones, ((5, 2), (2, 4)))), FULL + 2 * (FULL != 0)),
        (torch.zeros_like(a), 0 * FULL),
        (a.clone().mul_(3).zero_(), 0 * FULL),
        (a.clone().add_(b), FULL + OTHER),
        (a.float().double(), FULL),
    ]:
        assert ours.layout is torch.sparse_csr
        np.testing.assert_allclose(ours.to_dense().numpy(), theirs)
    columns = a.to_sparse_csc()
    for ours, theirs in [
        (columns + b, FULL + OTHER),
        (columns.neg(), -FULL),
        (columns.clone().add_(b), FULL + OTHER),
        (columns @ b.t(), FULL @ OTHER.T),
        (columns * b, FULL * OTHER),
    ]:
        assert ours.layout is torch.sparse_csc and ours.is_coalesced()
        offsets, rows = ours.ccol_indices().numpy(), ours.row_indices().numpy()
        read = scipy.sparse.csc_matrix((ours.values().numpy(), rows, offsets), ours.shape)
        np.testing.assert_allclose(read.toarray(), theirs)
    strided = torch.from_numpy(weights)
    for matrix in (a, columns):
        np.testing.assert_allclose((matrix @ strided).numpy(), FULL @ weights)
        np.testing.assert_allclose((matrix @ strided[:, 0]).numpy(), FULL @ weights[:, 0])
        np.testing.assert_allclose((strided.t() @ matrix.t()).numpy(), weights.T @ FULL.T)
        np.testing.assert_allclose(torch.sparse.mm(matrix, strided).numpy(), FULL @ weights)


def test_gradients() -> None:
    offsets, places = torch.tensor([0, 2, 2, 3]), torch.tensor([3, 0, 1])
    values = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    x = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)

    def product(values: Any, x: Any) -> Any:
        return torch.sparse_csr_tensor(offsets, places, values, (3, 4)) @ x

    assert torch.autograd.gradcheck(product, (values, x))
    leaf = torch.sparse_csr_tensor(offsets, places, values.detach(), (3, 4), requires_grad=True)
    for _ in range(2):
        (leaf @ x).sum().backward()
    assert leaf.grad.layout is torch.sparse_csr
    wanted = 2 * x.detach().sum(1).numpy()
    np.testing.assert_allclose(leaf.grad.to_dense()[0, [3, 0]].numpy(), wanted[[3, 0]])
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    (dense.to_sparse_csr().to_sparse_csc() * 5).values().sum().backward()
    assert dense.grad is not None and dense.grad.tolist() == [[0, 5], [5, 0]]


def test_copies_files_and_text() -> None:
    a = csr(FULL)
    file = io.BytesIO()
    torch.save([a, a.to_sparse_csc()], file)
    file.seek(0)
    loaded = torch.load(file)
    for found in (loaded[0], copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.clone()):
        assert found.layout is torch.sparse_csr
        same_parts(found, scipy.sparse.csr_matrix(FULL))
    same_parts(loaded[1], scipy.sparse.csc_matrix(FULL))
    short = torch.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [2.0, 3.0, 1.0], requires_grad=True)
    assert repr(short) == (
        "tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([1, 0, 2]),\n"
        "       values=tensor([2., 3., 1.]), size=(2, 3), nnz=3,\n"
        "       layout=flambeau.sparse_csr, requires_grad=True)"
    )


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (([0, 2], [0], [1.0]), RuntimeError, "must ascend from 0 to 1"),
        (([0, 2, 1], [0], [1.0]), RuntimeError, "must ascend"),
        (([0, 2**63 - 1, -(2**63), -1, 1], [0], [1.0]), RuntimeError, "must ascend"),
        (([0, 1], [7], [1.0], (1, 2)), RuntimeError, "index 7 .* out of range"),
        (([0, 1], [0], [1.0], (2, 2)), RuntimeError, "do not go with size"),
        (([0, 1], [0], [1.0, 2.0]), RuntimeError, "a value for each"),
        (([0.0, 1.0], [0], [1.0]), RuntimeError, "must be integers"),
        (([[0, 1]], [[0]], [[1.0]]), NotImplementedError, "batches"),
    ],
)
def test_refusals(arguments: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        torch.sparse_csr_tensor(*arguments)


def test_what_is_not_covered() -> None:
    with pytest.raises(NotImplementedError, match="blocks"):
        torch.ones(2, 2).to_sparse(layout=torch.sparse_bsr)
    with pytest.raises(NotImplementedError, match="batches"):
        torch.ones(2, 2, 2).to_sparse_csr()
    with pytest.raises(RuntimeError, match="expected a tensor of layout flambeau.sparse_csr"):
        torch.ones(2, 2).crow_indices()
    with pytest.raises(RuntimeError, match="to_sparse_coo"):
        csr(FULL).indices()
    unordered: Any = ([0, 2], [1, 0], [1.0, 2.0])
    assert torch.sparse_csr_tensor(*unordered).to_dense().tolist() == [[2.0, 1.0]]
    with pytest.raises(RuntimeError, match="must ascend in each row"):
        torch.sparse_csr_tensor(*unordered, check_invariants=True)
    invariants = torch.sparse.check_sparse_tensor_invariants
    with invariants(), pytest.raises(RuntimeError, match="must ascend in each row"):
        torch.sparse_csr_tensor(*unordered)
    invariants.enable()
    assert invariants(False)(invariants.is_enabled)() is False and invariants.is_enabled()
    invariants.disable()
    assert not invariants.is_enabled()


def test_columns_are_of_single_numbers() -> None:
    values = torch.ones(2, 3, 2)
    assert values.to_sparse_csr(dense_dim=1).layout is torch.sparse_csr
    with pytest.raises(NotImplementedError, match=r"to_sparse_csc\(\): compressed columns are of"):
        values.to_sparse_csc(dense_dim=1)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_sums_of_limited_integers(dtype: torch.dtype) -> None:
    """Elements at one place are added up, beyond what int32 holds where there is room."""
    most = {torch.uint16: 2**15, torch.uint32: 2**31, torch.uint64: 2**63}[dtype]
    values = torch.tensor([most, 7, most - 1], dtype=dtype)
    pairs = torch.sparse_coo_tensor(torch.tensor([[0, 1, 0], [2, 0, 2]]), values, (2, 3))
    expected = [[0, 0, 2 * most - 1], [7, 0, 0]]
    assert pairs.to_dense().tolist() == expected
    assert pairs.coalesce().values().tolist() == [2 * most - 1, 7]
    assert pairs.to_sparse_csc().values().tolist() == [7, 2 * most - 1]
    added = torch.zeros(3, dtype=dtype).index_add(0, torch.tensor([1, 1, 2]), values)
    assert added.tolist() == [0, most + 7, most - 1]
