"""Sparse tensors put together, and their methods as functions: `flambeau.transpose(sparse, 0, 1)`.

Importing this module gives SparseTensor these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import flambeau
from flambeau import _sparse_parts
from flambeau._C import Tensor
from flambeau._sparse_tensor import SparseTensor, _dim, _sparse, in_layout

_internal: Any = flambeau._C._internal

F = TypeVar("F", bound=Callable[..., Any])


def _function(function: F) -> F:
    """Makes it the function of its name, and of the aliases of this, for sparse tensors."""
    SparseTensor._functions[function.__name__] = function
    return function


@_function
def cat(tensors: Sequence[SparseTensor], dim: int = 0) -> Tensor:
    """Sparse tensors one after the other along a dim.

    Args:
        tensors: of one layout, of shapes that differ in dim alone.
        dim: a sparse dim, or a dense one, along which the values of each have zeros for the others.

    Returns:
        A tensor of their layout.

    Raises:
        IndexError: if dim is out of range.
        RuntimeError: if one is strided or of another layout, or the shapes do not fit.
    """
    first = next(t for t in tensors if isinstance(t, SparseTensor))
    dim = _dim(first, dim, "cat")
    for number, tensor in enumerate(tensors):
        _check(tensor, first, dim, number)
    parts = [_sparse_parts._listed(tensor) for tensor in tensors]
    size = list(first.shape)
    size[dim] = sum(part.shape[dim] for part in parts)
    sparse, begin, places, values = parts[0].sparse_dim(), 0, [], []
    for part in parts:
        where, what = part._indices(), _internal.sparse_values(part)
        if dim < sparse:
            where = where.clone()
            where[dim] += begin
        else:
            what = _padded(what, dim - sparse + 1, begin, size[dim])
        places.append(where)
        values.append(what)
        begin += part.shape[dim]
    joined = _sparse(flambeau.cat(places, 1), flambeau.cat(values), size)
    return joined if first.layout is flambeau.sparse_coo else in_layout(joined, first.layout)


@_function
def stack(tensors: Sequence[SparseTensor], dim: int = 0) -> Tensor:
    """Sparse tensors of one shape along a new dim.

    Args:
        tensors: of layout sparse_coo.
        dim: where it is.
    """
    return cat([_need_sparse(tensor).unsqueeze(dim) for tensor in tensors], dim)


def _need_sparse(tensor: Any) -> Any:
    if isinstance(tensor, SparseTensor):
        return tensor
    raise RuntimeError(
        f"stack(): expected tensors of one layout, got sparse and {tensor.layout} ones"
    )


def _check(tensor: Any, first: SparseTensor, dim: int, number: int) -> None:
    if not isinstance(tensor, SparseTensor) or tensor.layout is not first.layout:
        seen = getattr(tensor, "layout", type(tensor).__name__)
        raise RuntimeError(
            f"cat(): expected tensors of one layout, got {first.layout} and {seen} at {number}"
        )
    same = [i for i in range(first.ndim) if i != dim]
    if tensor.ndim != first.ndim or any(tensor.shape[i] != first.shape[i] for i in same):
        raise RuntimeError(
            f"cat(): shapes may differ in dim {dim} alone, got {tuple(first.shape)} and "
            f"{tuple(tensor.shape)} at {number}"
        )
    if tensor.sparse_dim() != first.sparse_dim():
        raise RuntimeError(
            f"cat(): expected {first.sparse_dim()} sparse dims, got {tensor.sparse_dim()} at "
            f"{number}"
        )


def _padded(values: Tensor, dim: int, begin: int, extent: int) -> Tensor:
    """With zeros along a dim, so that it has `extent` and the values begin at `begin`."""
    after = extent - begin - values.shape[dim]
    return flambeau.nn.functional.pad(values, [0, 0] * (values.ndim - 1 - dim) + [begin, after])


SparseTensor._functions |= {
    name: member
    for name, member in vars(SparseTensor).items()
    if callable(member) and not name.startswith("_")
}
