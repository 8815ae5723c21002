"""Parts of sparse tensors, against NumPy's of the same elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau

DENSE = np.array([[0.0, 2, 0, 1], [3, 0, 0, 0], [0, 5, 6, 0]], dtype=np.float32)
LAYOUTS = (flambeau.sparse_coo, flambeau.sparse_csr, flambeau.sparse_csc)


def twice_listed() -> flambeau.Tensor:
    """Not coalesced: a place occurs twice, and they are in no order."""
    places = [[2, 0, 1, 2, 0, 2], [2, 3, 0, 1, 1, 2]]
    return flambeau.sparse_coo_tensor(places, [4.0, 1, 3, 5, 2, 2], (3, 4))


def tensors() -> list[flambeau.Tensor]:
    strided = flambeau.from_numpy(DENSE)
    return [twice_listed(), *(strided.to_sparse(layout=layout) for layout in LAYOUTS)]


INDICES: list[Any] = [
    0,
    -1,
    (1, 0),
    (slice(None), 1),
    (slice(1, 3), slice(None, None, 2)),
    slice(2, 1),
    [2, 0, 2],
    [-1, 1],
    (slice(None), [3, 3]),
    ([True, False, True],),
    None,
    (None, 2),
    (..., 3),
    ...,
    (1, ..., None),
    [],
]


def for_numpy(index: Any) -> Any:
    empty = isinstance(index, list) and not index
    return np.zeros(0, dtype=int) if empty else index


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_parts(index: Any) -> None:
    expected = DENSE[for_numpy(index)]
    for x in tensors():
        found = x[index]
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.to_dense().numpy(), expected)


def test_vectors_as_tensors() -> None:
    for x in tensors():
        for index in (flambeau.tensor([1, 1, 0]), flambeau.tensor([True, True, False])):
            np.testing.assert_array_equal(x[index].to_dense(), DENSE[index.numpy()])
        assert x[flambeau.tensor(2), flambeau.tensor(1)].item() == 5


def test_values_with_dims() -> None:
    values = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    x = flambeau.sparse_coo_tensor([[0, 3]], flambeau.from_numpy(values), (4, 3, 2))
    dense = x.to_dense().numpy()
    for index in (3, 1, (slice(None), 1), (0, 2, 1), (slice(0, 4, 3), [2, 0]), (..., 0)):
        np.testing.assert_array_equal(x[index].to_dense(), dense[index])
    np.testing.assert_array_equal(x.permute(0, 2, 1).to_dense(), dense.transpose(0, 2, 1))
    np.testing.assert_array_equal(x.unsqueeze(2).to_dense(), dense[:, :, None])


def test_rows_sums_and_norms() -> None:
    for x in tensors():
        assert len(x) == 3
        np.testing.assert_array_equal([row.to_dense().tolist() for row in x], DENSE)
        np.testing.assert_array_equal(x.permute(1, 0).to_dense(), DENSE.T)
        np.testing.assert_array_equal(x.narrow_copy(1, -3, 2).to_dense(), DENSE[:, 1:3])
        np.testing.assert_array_equal(x.sum(0).to_dense(), DENSE.sum(0))
        np.testing.assert_array_equal(
            x.sum([1], keepdim=True).to_dense(), DENSE.sum(1, keepdims=True)
        )
        assert x.sum(keepdim=True).shape == (1, 1)
        assert x.norm().item() == pytest.approx(np.linalg.norm(DENSE))
        assert x.norm(float("inf")).item() == 6


def test_gradients_reach_the_values_that_were_chosen() -> None:
    values = flambeau.tensor([1.0, 2, 3], requires_grad=True)
    x = flambeau.sparse_coo_tensor([[0, 1, 1], [2, 0, 1]], values, (2, 3))
    (x[[1, 1, 0]].to_dense() ** 2).sum().backward()
    assert values.grad is not None and values.grad.tolist() == [2, 8, 12]
    values.grad = None
    x = flambeau.sparse_coo_tensor([[0, 1, 1], [2, 0, 1]], values, (2, 3))
    x[1, 0].mul(5).backward()
    assert values.grad.tolist() == [0, 5, 0]


def test_what_is_like_another() -> None:
    for x in tensors():
        for made, number in ((flambeau.ones_like(x), 1), (flambeau.full_like(x, 7), 7)):
            once = DENSE if x.is_coalesced() else made.to_dense().numpy()
            np.testing.assert_array_equal(made.to_dense() != 0, once != 0)
            assert set(made._values().tolist()) == {number} and made.layout is x.layout
        assert flambeau.ones_like(x, dtype=flambeau.int64).dtype is flambeau.int64
        assert flambeau.empty_like(x).shape == x.shape
        assert flambeau.zeros_like(x)._nnz() == 0


def test_copies_into_a_sparse_tensor() -> None:
    for target in tensors():
        for source in tensors():
            x = flambeau.zeros_like(target)
            assert x.copy_(source.double()) is x
            np.testing.assert_array_equal(x.to_dense(), DENSE)
            assert (x.layout, x.dtype) == (target.layout, flambeau.float32)
    x, y = twice_listed(), twice_listed()
    x.copy_(y)
    y._values().zero_()
    np.testing.assert_array_equal(x.to_dense(), DENSE)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda x: x[3], IndexError, "index 3 is out of range for dim 0 with 3"),
        (lambda x: x[0, 0, 0], IndexError, "3 indices for 2 dims"),
        (lambda x: x[[3]], IndexError, r"index must be within \[0, 2\] for dim 0"),
        (lambda x: x[[-4]], IndexError, r"index must be within \[0, 2\]"),
        (lambda x: x[[True]], IndexError, "a mask of 1 elements for a dim with 3"),
        (lambda x: x[[0], [1]], TypeError, "one vector of indices at a time, got 2"),
        (lambda x: x["a"], TypeError, "indexed by numbers, slices, None"),
        (lambda x: x[1.5], TypeError, "indexed by numbers"),
        (lambda x: x[::-1], ValueError, "step of a slice must be positive, got -1"),
        (lambda x: x.index_select(0, [0]), TypeError, "index must be a vector of int64"),
        (lambda x: x.index_select(2, flambeau.tensor([0])), IndexError, "dim 2 is out of range"),
        (lambda x: x.narrow_copy(0, 2, 2), IndexError, "start 2 and length 2"),
        (lambda x: x.unsqueeze(4), IndexError, "dim 4 is out of range"),
        (lambda x: x.permute(0, 0), RuntimeError, "dims must be all of 2"),
        (lambda x: x.norm(-1), ValueError, "p must be a positive number"),
        (lambda x: x.sum(5), IndexError, "dim 5 is out of range"),
        (lambda x: x.copy_(flambeau.eye(2).to_sparse()), RuntimeError, "of shape"),
    ],
)
def test_mistakes(call: Callable[[Any], Any], kind: type[Exception], words: str) -> None:
    for x in tensors():
        with pytest.raises(kind, match=words):
            call(x)


def test_rows_one_after_the_other() -> None:
    for x in tensors():
        rows = [row.to_dense().tolist() for row in x]
        assert rows == DENSE.tolist() == [row.to_dense().tolist() for row in x.unbind()]


def test_rows_that_no_memory_holds() -> None:
    """Each would be a tensor of its own; the first ones are there for whoever iterates."""
    x = flambeau.sparse_coo_tensor([[1], [0]], [2.0], (2**40, 3))
    with pytest.raises(MemoryError, match=r"unbind\(\): .* 1099511627776 indices of dim 0"):
        x.unbind()
    rows = iter(x)
    assert next(rows).to_dense().tolist() == [0, 0, 0]
    assert next(rows).to_dense().tolist() == [2, 0, 0]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_slices_along_a_dim(dim: int) -> None:
    places = [[5, 0, 2, 5, 0, 2], [2, 3, 0, 1, 1, 0]]
    leaf = flambeau.arange(1.0, 13).reshape(6, 2).requires_grad_()
    x = flambeau.sparse_coo_tensor(places, leaf, (7, 4, 2))
    slices = [part.to_dense() for part in x.unbind(dim)]
    expected = np.moveaxis(x.to_dense().detach().numpy(), dim, 0)
    np.testing.assert_array_equal([part.detach().numpy() for part in slices], expected)
    weighed = sum((number + 1) * part.sum() for number, part in enumerate(slices))
    (slope,) = flambeau.autograd.grad(weighed, leaf)
    place = np.broadcast_to([1, 2], (6, 2)) if dim == 2 else np.array(places[dim])[:, None] + 1
    np.testing.assert_array_equal(slope.numpy(), np.broadcast_to(place, (6, 2)))


def test_iteration_goes_to_the_entries_alone() -> None:
    leaf = flambeau.tensor([1.0, 2, 3]).requires_grad_()
    x = flambeau.sparse_coo_tensor([[3, 1, 3]], leaf, (10**12,))
    first = [part for part, _ in zip(x, range(5), strict=False)]
    assert [float(part) for part in first] == [0, 2, 0, 4, 0]
    (slope,) = flambeau.autograd.grad(first[3] * 5 + first[0], leaf)
    assert slope.tolist() == [5, 0, 5]
