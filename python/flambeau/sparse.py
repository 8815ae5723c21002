"""Sparse tensors: products, sums and softmax.

They are made by `sparse_coo_tensor` and `Tensor.to_sparse`. What is declared to take them does;
everything else refuses them with an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import _C, Tensor, _lazy
from flambeau._sparse_invariants import check_sparse_tensor_invariants
from flambeau._sparse_tensor import SparseTensor, _dim
from flambeau._typed_tensors import SPARSE_TYPES

_internal: Any = _C._internal


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix and another: strided where that is, sparse where it is sparse.

    The gradients of sparse matrices are sparse, with their places. Memory is needed for the result,
    and for a row number of each place; for each place of the result where both are sparse.

    Args:
        mat1, mat2: matrices, of which at least one is sparse: (n, m) and (m, p).
        reduce: "sum", "mean", "amax" or "amin" of the products of each row, of the elements that
            `mat1` lists; 0 in rows where it lists none. None: their sum.

    Raises:
        RuntimeError: if the shapes do not multiply.
        ValueError: there is no such `reduce`.

    Example:
        >>> x = flambeau.sparse_coo_tensor([[0], [1]], [2.], size=(2, 2))
        >>> flambeau.sparse.mm(x, flambeau.ones(2, 1))
        tensor([[2.],
                [0.]])
    """
    if reduce is not None:
        return _internal.sparse_mm_reduced(_checked(mat1, "mm", "mat1"), mat2, reduce)
    return flambeau.mm(_checked(mat1, "mm", "mat1"), mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`, where `mat1` is sparse.

    Example:
        >>> x = flambeau.sparse_coo_tensor([[0], [1]], [2.], size=(2, 2))
        >>> flambeau.sparse.addmm(flambeau.ones(2, 1), x, flambeau.ones(2, 1))
        tensor([[3.],
                [1.]])
    """
    return flambeau.addmm(mat, _checked(mat1, "addmm", "mat1"), mat2, beta=beta, alpha=alpha)


def sampled_addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` at the places of a sparse matrix `input`; no other
    element of the product is computed.

    Args:
        input: a sparse matrix; with `beta` 0 its values do not count.
        mat1, mat2: strided matrices whose product has the shape of `input`.
        beta, alpha: factors.
        out: refused: a sparse result is a new tensor.

    Returns:
        A sparse matrix, coalesced.

    Raises:
        RuntimeError: if the shapes do not agree.
        TypeError: if `input` is not sparse, or `out` is given.

    Example:
        >>> x = flambeau.sparse_coo_tensor([[0, 1], [1, 0]], [1., 1.], size=(2, 2))
        >>> left, right = flambeau.tensor([[1.], [2.]]), flambeau.tensor([[3., 4.]])
        >>> flambeau.sparse.sampled_addmm(x, left, right).to_dense()
        tensor([[0., 5.],
                [7., 0.]])
    """
    checked = _checked(input, "sampled_addmm", "input")
    if out is not None:
        raise TypeError("sparse.sampled_addmm(): out must be None: a sparse result is a new tensor")
    found: Tensor = _internal.sparse_sampled_addmm(checked, mat1, mat2, beta=beta, alpha=alpha)
    return found


def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor over dims.

    Args:
        input: a sparse tensor.
        dim: the dims; None: all.
        dtype: of the result; None: that of `input`, int64 of integers.

    Returns:
        A sparse tensor, coalesced; a strided one where no sparse dim is left.

    Raises:
        IndexError: if a dim is out of range.
        RuntimeError: if a dim is listed twice.

    Example:
        >>> x = flambeau.sparse_coo_tensor([[0, 1], [1, 0]], [2., 3.], size=(2, 2))
        >>> flambeau.sparse.sum(x)
        tensor(5.)
        >>> flambeau.sparse.sum(x, dim=0).to_dense()
        tensor([3., 2.])
    """
    tensor = _checked(input, "sum", "input")
    if dim is None:
        return tensor.sum(dtype=dtype)
    given = [dim] if isinstance(dim, int) else list(dim)
    dims = [_dim(tensor, d, "sparse.sum") for d in given]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"sparse.sum(): a dim is listed twice in {tuple(given)}")
    sparse = tensor.sparse_dim()
    values = _internal.sparse_values(tensor)
    dense = [d - sparse + 1 for d in dims if d >= sparse]
    kept = [d for d in range(sparse) if d not in dims]
    if not kept:
        total: Tensor = values.sum([0, *dense], dtype=dtype)
        return total
    if dense:
        values = values.sum(dense, dtype=dtype)
    elif dtype is not None:
        values = values.to(dtype)
    size = [extent for d, extent in enumerate(tensor.shape) if d not in dims]
    result: Tensor = _internal.sparse_make(tensor._indices()[kept], values, size)
    return result.coalesce()


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax over a dim of a sparse tensor, of what is listed: all else counts as minus infinity.

    Args:
        input: a sparse tensor.
        dim: over which the sums are 1.
        dtype: None, or what the values are converted to first.

    Raises:
        IndexError: if the dim is out of range.

    Example:
        >>> x = flambeau.sparse_coo_tensor([[0, 0], [0, 2]], [1., 1.], size=(1, 3))
        >>> flambeau.sparse.softmax(x, dim=1).to_dense()
        tensor([[0.5000, 0.0000, 0.5000]])
    """
    return _softmax(input, dim, dtype, logarithm=False)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, of what is listed.

    Args:
        input, dim, dtype: as of `softmax`.

    Raises:
        IndexError: if the dim is out of range.

    Example:
        >>> x = flambeau.sparse_coo_tensor([[0, 0], [0, 2]], [1., 1.], size=(1, 3))
        >>> flambeau.sparse.log_softmax(x, dim=1).to_dense()
        tensor([[-0.6931,  0.0000, -0.6931]])
    """
    return _softmax(input, dim, dtype, logarithm=True)


def _softmax(input: Tensor, dim: int, dtype: Any, logarithm: bool) -> Tensor:
    name = "log_softmax" if logarithm else "softmax"
    tensor = _checked(input, name, "input").coalesce()
    place = _dim(tensor, dim, f"sparse.{name}")
    values = _internal.sparse_values(tensor)
    if dtype is not None:
        values = values.to(dtype)
    sparse = tensor.sparse_dim()
    if place >= sparse:
        whole = flambeau.log_softmax if logarithm else flambeau.softmax
        computed = whole(values, place - sparse + 1)
    else:
        computed = _over_sparse_dim(tensor, values, place, logarithm)
    result: Tensor = _internal.sparse_like(tensor, computed)
    return result


def _over_sparse_dim(tensor: Tensor, values: Tensor, dim: int, logarithm: bool) -> Tensor:
    """Softmax among the values whose places differ in one dim alone."""
    others = [d for d in range(tensor.sparse_dim()) if d != dim]
    size = [tensor.shape[d] for d in others]
    counted = _internal.sparse_flat(tensor._indices()[others], size)
    groups, group = counted.unique(return_inverse=True)
    shape = [groups.numel(), *values.shape[1:]]
    index = group.reshape([-1] + [1] * (values.ndim - 1)).expand_as(values)
    largest = values.detach().new_zeros(shape)
    largest = largest.scatter_reduce(0, index, values.detach(), "amax", include_self=False)
    shifted = values - largest.index_select(0, group)
    powers = shifted.exp()
    totals = powers.new_zeros(shape).index_add(0, group, powers)
    if logarithm:
        return shifted - totals.log().index_select(0, group)
    return powers / totals.index_select(0, group)


def _checked(tensor: Tensor, function: str, argument: str) -> Any:
    if not isinstance(tensor, SparseTensor):
        raise TypeError(
            f"sparse.{function}(): argument '{argument}' must be a tensor of layout sparse_coo, "
            f"not {'a strided one' if isinstance(tensor, Tensor) else type(tensor).__name__}"
        )
    return tensor


globals().update(SPARSE_TYPES)

__all__ = [
    "check_sparse_tensor_invariants",
    *(
        name
        for name, value in globals().items()
        if getattr(value, "__module__", None) == __name__ and not name.startswith("_")
    ),
]
__getattr__ = _lazy.unavailable(__name__, "Flambeau has no such function of sparse tensors yet")
