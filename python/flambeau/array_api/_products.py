"""Products, which are both in the namespace and in its linalg."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau.array_api._adapted import same_dtype


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Matrix products.

    Args:
        x1, x2: tensors, [*, n, m] and [*, m, p].

    Example:
        >>> flambeau.array_api.linalg.matmul(flambeau.ones(2, 3), flambeau.ones(3, 1))
        tensor([[3.],
                [3.]])
    """
    return flambeau.matmul(*same_dtype(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view with the last two dims exchanged."""
    return x.mT


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Products summed over dims: so many, or those that are named of either."""
    x1, x2 = same_dtype(x1, x2)
    return flambeau.tensordot(x1, x2, dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Products of vectors along a dim, the first conjugated.

    Args:
        x1, x2: vectors along a dim; they broadcast.
        axis: the dim.

    Example:
        >>> flambeau.array_api.linalg.vecdot(flambeau.ones(3), flambeau.ones(3))
        tensor(3.)
    """
    x1, x2 = same_dtype(x1, x2)
    return flambeau.linalg.vecdot(x1, x2, dim=axis).to(x1.dtype)
