"""Products, which are both in the namespace and in its linalg."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau.array_api._adapted import same_dtype
from flambeau.array_api._manipulation import known_axes


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
        x1, x2: vectors along a dim; the others broadcast.
        axis: the dim, negative where the arrays differ in dims.

    Raises:
        ValueError: the vectors of one have more elements than those of the other.

    Example:
        >>> flambeau.array_api.linalg.vecdot(flambeau.ones(3), flambeau.ones(3))
        tensor(3.)
    """
    (first,), (second,) = (known_axes(x, axis) for x in (x1, x2))
    if x1.shape[first] != x2.shape[second]:
        raise ValueError(
            f"vecdot(): vectors of {x1.shape[first]} and {x2.shape[second]} elements, expected as "
            "many in both"
        )
    x1, x2 = same_dtype(x1, x2)
    return flambeau.linalg.vecdot(x1, x2, dim=axis).to(x1.dtype)
