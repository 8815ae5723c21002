"""Linear algebra of the array API standard; names that are not here are those of
flambeau.linalg."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.array_api import _products
from flambeau.array_api._adapted import adapted, same_dtype, written_in
from flambeau.array_api._manipulation import known_axes

globals().update(written_in(_products))


def __getattr__(name: str) -> Any:
    found = adapted(getattr(flambeau.linalg, name))
    globals()[name] = found
    return found


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Every element of a vector times every one of another."""
    return flambeau.outer(*same_dtype(x1, x2))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors along a dim, counted from the end.

    Args:
        x1, x2: vectors of 3 elements along a dim; the others broadcast.
        axis: the dim, negative.

    Raises:
        ValueError: the vectors of either have more or fewer elements.

    Example:
        >>> x = flambeau.tensor([1., 0., 0.])
        >>> flambeau.array_api.linalg.cross(x, flambeau.tensor([[0., 1., 0.]]))
        tensor([[0., 0., 1.]])
    """
    sizes = [x.shape[each] for x in (x1, x2) for each in known_axes(x, axis)]
    if sizes != [3, 3]:
        raise ValueError(f"cross(): vectors of {sizes[0]} and {sizes[1]} elements, expected 3 each")
    x1, x2 = flambeau.broadcast_tensors(*same_dtype(x1, x2))
    return flambeau.linalg.cross(x1, x2, dim=axis)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of matrices."""
    from flambeau.array_api._reductions import sum as total

    return total(flambeau.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Norms of matrices in the last two dims.

    Args:
        x: matrices, [*, n, m].
        keepdims: whether the two dims stay.
        ord: which norm.

    Example:
        >>> flambeau.array_api.linalg.matrix_norm(flambeau.tensor([[3., 4.]]))
        tensor(5.)
    """
    return flambeau.linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are above `rtol` times the largest.

    Args:
        x: matrices, [*, n, m].
        rtol: smaller singular values, relative to the largest, count as 0.

    Example:
        >>> flambeau.array_api.linalg.matrix_rank(flambeau.ones(3, 3))
        tensor(1)
    """
    return flambeau.linalg.matrix_rank(x, rtol=rtol)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudoinverse; singular values up to `rtol` times the largest count as zero.

    Args:
        x: matrices, [*, n, m].
        rtol: smaller singular values, relative to the largest, count as 0.

    Example:
        >>> flambeau.array_api.linalg.pinv(flambeau.tensor([[2., 0.], [0., 4.]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return flambeau.linalg.pinv(x, rtol=rtol)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """Norms of vectors along dims; None: of all elements.

    Args:
        x: any tensor.
        axis: dims; None: all.
        keepdims: whether they stay.
        ord: which norm.

    Example:
        >>> flambeau.array_api.linalg.vector_norm(flambeau.tensor([3., 4.]))
        tensor(5.)
    """
    if axis == ():
        return flambeau.abs(x) if ord != 0 else (x != 0).to(x.abs().dtype)
    return flambeau.linalg.vector_norm(x, ord, axis, keepdims)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The x of `x1 @ x = x2`; `x2` is a vector if and only if it has one dim.

    Example:
        >>> flambeau.array_api.linalg.solve(2 * flambeau.eye(2), flambeau.ones(2))
        tensor([0.5000, 0.5000])
    """
    x1, x2 = same_dtype(x1, x2)
    if x2.ndim == 1:
        column = x2[:, None].expand(*x1.shape[:-2], -1, 1)
        return flambeau.linalg.solve(x1, column)[..., 0]
    shape = flambeau.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return flambeau.linalg.solve(x1, x2.expand(*shape, *x2.shape[-2:]))
