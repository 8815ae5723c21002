"""Sparse tensors put together, and their methods as functions: what dense tensors give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.testing import assert_close

FIRST = flambeau.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
SECOND = flambeau.tensor([[0.0, 0.0, 5.0], [0.0, 7.0, 0.0]])
ROWS = flambeau.tensor([1, 1, 0])


def twice() -> Tensor:
    """A tensor that lists a place twice."""
    return flambeau.sparse_coo_tensor([[1, 1], [2, 2]], [1.0, 2.0], (2, 3))


@pytest.mark.parametrize(
    ("name", "layout"),
    [(name, flambeau.sparse_coo) for name in ("cat", "concat", "concatenate", "stack")]
    + [("cat", flambeau.sparse_csr), ("cat", flambeau.sparse_csc)],
)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_joins(name: str, dim: int, layout: Any) -> None:
    join = getattr(flambeau, name)
    parts = [FIRST.to_sparse(layout=layout), SECOND.to_sparse(layout=layout)]
    coo = flambeau.sparse_coo
    parts.append(twice() if layout is coo else twice().to_sparse(layout=layout))
    found = join(parts, dim)
    assert found.layout is layout
    assert_close(found.to_dense(), join([FIRST, SECOND, twice().to_dense()], dim=dim))
    assert_close(join(tuple(parts[:1]), dim=dim).to_dense(), join([FIRST], dim))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_joins_along_dense_dims(dim: int) -> None:
    dense = flambeau.arange(12.0).view(3, 2, 2)
    parts = [dense.to_sparse(1), (dense + 1).to_sparse(1)]
    assert_close(flambeau.cat(parts, dim).to_dense(), flambeau.cat([dense, dense + 1], dim))


def test_gradients_and_dtypes() -> None:
    leaf = FIRST.to_sparse().requires_grad_()
    joined = flambeau.cat([leaf, SECOND.double().to_sparse()], 1)
    assert joined.dtype is flambeau.float64
    flambeau.sparse.sum(joined * joined).backward()
    assert leaf.grad is not None
    assert_close(leaf.grad.to_dense(), 2 * FIRST)


def test_nothing_listed() -> None:
    empty = flambeau.zeros(2, 3).to_sparse()
    assert flambeau.cat([empty, empty])._nnz() == 0
    assert flambeau.cat([empty, FIRST.to_sparse()]).to_dense().tolist()[2:] == FIRST.tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: flambeau.transpose(x, 0, 1),
        lambda x: flambeau.index_select(x, 0, ROWS),
        lambda x: flambeau.select(x, 1, 2),
        lambda x: flambeau.unsqueeze(x, 0),
        lambda x: flambeau.permute(x, (1, 0)),
        lambda x: flambeau.sum(x, 1, keepdim=True),
    ],
)
def test_methods_are_functions(call: Callable[[Tensor], Tensor]) -> None:
    assert_close(call(FIRST.to_sparse()).to_dense(), call(FIRST))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: flambeau.cat([x, FIRST]),
            RuntimeError,
            "one layout, got .*coo and .*strided at 1",
        ),
        (
            lambda x: flambeau.cat([FIRST, x]),
            RuntimeError,
            "one layout, got .*coo and .*strided at 0",
        ),
        (lambda x: flambeau.cat([x, x.t()]), RuntimeError, r"\(2, 3\) and \(3, 2\) at 1"),
        (lambda x: flambeau.cat([x, FIRST.to_sparse(1)]), RuntimeError, "2 sparse dims, got 1"),
        (lambda x: flambeau.cat([x], 2), IndexError, "dim 2 is out of range"),
        (lambda x: flambeau.stack([x, FIRST]), RuntimeError, "one layout"),
        (lambda x: flambeau.sum(x, dtype="x"), TypeError, r"sum\(\)"),
        (lambda x: flambeau.transpose(x, 0), TypeError, "dim1"),
        (lambda x: flambeau.flip(x, [0]), TypeError, "not Tensor of layout sparse_coo"),
    ],
)
def test_refusals(call: Callable[[Tensor], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(FIRST.to_sparse())
