"""No tensor without strided bytes reaches what reads bytes: everything refuses it, or says so."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau.codegen.model.entries import Base, Operator
from flambeau.codegen.read.loader import library_declarations

SPARSE = torch.sparse_coo_tensor([[0, 1], [2, 0]], [1.0, 2.0], (2, 3))
INTERNAL: Any = torch._C._internal


@lru_cache(maxsize=1)
def taken() -> frozenset[str]:
    """The methods that some entry says take a sparse receiver."""
    return frozenset(
        o.name
        for o in library_declarations().operators
        if o.layouts and o.tensor_arguments and o.tensor_arguments[0].name in o.layouts
    )


def unary_methods() -> list[Operator]:
    """Operators that a method without arguments calls, but those that SparseTensor defines."""
    found = {}
    for o in library_declarations().operators:
        needed = [a for a in o.signature.arguments if a.default is None and not a.type.optional]
        is_method = "method" in o.variants and not o.internal
        if is_method and len(needed) == 1 and needed[0].type.base is Base.TENSOR:
            found.setdefault(o.name, o)
    own = {*taken(), *vars(type(SPARSE))}
    return [o for name, o in found.items() if name not in own]


@pytest.mark.parametrize("operator", unary_methods(), ids=lambda o: o.name)
def test_methods_refuse_by_default(operator: Operator) -> None:
    with pytest.raises((TypeError, NotImplementedError), match="layout sparse_coo"):
        getattr(SPARSE, operator.name)()


@pytest.mark.parametrize(
    "use",
    [
        lambda s: s.numpy(),
        lambda s: np.asarray(s),
        lambda s: memoryview(s),
        lambda s: s.__dlpack__(),
        lambda s: s.data_ptr(),
        lambda s: s.untyped_storage(),
        lambda s: s.storage_offset(),
        lambda s: s.stride(),
        lambda s: s.nbytes,
        lambda s: s.tolist(),
        lambda s: s.item(),
        lambda s: bool(s),
        lambda s: float(s),
        lambda s: s.__setitem__(0, 1.0),
        lambda s: torch.ones(2, 3).__setitem__(0, s),
        lambda s: torch.ones(2, 3)[s],
        lambda s: torch.ones(2, 3)[s, 0],
        lambda s: s.view(6),
        lambda s: s.share_memory_(),
        lambda s: s.resize_(3),
        lambda s: s.mT,
        lambda s: s + 1,
        lambda s: s == s,
        lambda s: torch.cat([torch.ones(2, 3), s]),
        lambda s: torch.hstack([s]),
        lambda s: torch.add(torch.ones(2, 3), 1, out=s),
        lambda s: torch.ones(2, 3).copy_(s),
        lambda s: torch.ones(2, 3).fill_(s),
        lambda s: torch.nn.Parameter(s),
        lambda s: s.as_subclass(torch.nn.Parameter),
        lambda s: torch.ones(2, 3).as_subclass(type(s)),
        lambda s: setattr(torch.ones(2, 3), "data", s),
        lambda s: setattr(s, "data", torch.ones(2, 3)),
        lambda s: torch.tensor(s),
        lambda s: torch.tensor([s, s]),
        lambda s: torch.zeros(3, layout=torch.sparse_coo),
        lambda s: torch.zeros(3, device="sparse_coo"),
        lambda s: torch.nn.functional.linear(torch.ones(2, 3), s),
        lambda s: torch.where(torch.ones(2, 3) > 0, s, 0.0),
        lambda s: s.register_hook(1),
        lambda s: type(s)([1.0]),
    ],
)
def test_what_reads_bytes_refuses(use: Callable[[Any], Any]) -> None:
    with pytest.raises(
        (TypeError, RuntimeError, NotImplementedError, BufferError, AttributeError, IndexError)
    ):
        use(SPARSE)


def test_errors_name_operator_argument_and_layout() -> None:
    with pytest.raises(TypeError) as caught:
        torch.exp(SPARSE)
    text = str(caught.value)
    assert "exp()" in text and "'input'" in text and "layout sparse_coo" in text


@pytest.mark.parametrize("size", [None, (), (2, 3)])
def test_indices_are_a_matrix(size: tuple[int, ...] | None) -> None:
    with pytest.raises(RuntimeError, match=r"sparse_coo_tensor.*a matrix.*got shape \(1, 1, 2\)"):
        torch.sparse_coo_tensor(torch.zeros(1, 1, 2, dtype=torch.int64), torch.ones(2), size)


def test_a_graph_gets_strided_gradients() -> None:
    """What is differentiated further than a leaf sees no sparse tensor."""
    weight = torch.ones(4, 2, requires_grad=True)
    seen = []
    scaled = weight * 3
    scaled.register_hook(lambda g: seen.append(g.is_sparse))
    torch.nn.functional.embedding(torch.tensor([1, 1]), scaled, sparse=True).sum().backward()
    assert weight.grad is not None and not weight.grad.is_sparse
    assert weight.grad.tolist() == [[0, 0], [6, 6], [0, 0], [0, 0]]
    assert len(seen) == 1


def test_strided_gradients_of_sparse_tensors_are_refused() -> None:
    leaf = SPARSE.detach().requires_grad_()
    with pytest.raises(RuntimeError, match="strided, expected one of layout sparse_coo"):
        torch.autograd.backward(leaf.clone(), torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="layout"):
        leaf.grad = torch.ones(2, 3)


def test_private_functions_refuse_too() -> None:
    strided = torch.ones(2, 3)
    for use in (
        lambda: INTERNAL.sparse_make(SPARSE, strided, [2, 3]),
        lambda: INTERNAL.sparse_values(strided),
        lambda: INTERNAL.sparse_with(SPARSE, torch.ones(5)),
        lambda: INTERNAL.sparse_with(SPARSE, SPARSE),
        lambda: INTERNAL.sparse_flat(torch.tensor([[7]]), [3]),
        lambda: INTERNAL.sparse_assign_(SPARSE.clone(), SPARSE.t()),
        lambda: INTERNAL.sparse_assign_(SPARSE.clone(), SPARSE.double()),
    ):
        with pytest.raises((TypeError, RuntimeError)):
            use()


@pytest.mark.parametrize("name", ["pow", "sub", "truediv", "floordiv", "mod", "matmul", "lshift"])
def test_numbers_on_the_left_are_refused_by_python(name: str) -> None:
    sparse = torch.ones(2).to_sparse()
    assert getattr(sparse, f"__r{name}__")(2) is NotImplemented
    with pytest.raises(TypeError, match="unsupported operand"):
        getattr(operator, name)(2, sparse)


def test_a_size_without_end_is_refused() -> None:
    for size in (range(2**62), itertools.count()):
        with pytest.raises(RuntimeError, match="size has more than 64 extents"):
            torch.sparse_coo_tensor(size)
