"""Functions that no entry declares: `broadcast_shapes` has to do with shapes alone, and the dims of
`tensordot` are a number or two lists, which is more than a signature says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Size, Tensor
from flambeau._values import elements


def _wrapped(name: str, dim: int, rank: int) -> int:
    """A dim counted from the front.

    Raises:
        IndexError: if the tensor has no such dim.
    """
    if not -rank <= dim < rank:
        expected = f"expected {-rank} to {rank - 1}" if rank else "it has none"
        raise IndexError(
            f"{name}(): dim {dim} is out of range for a tensor of {rank} dimensions; {expected}"
        )
    return dim % rank


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: if two sizes of a dimension differ and neither is 1.
    """
    lists = [[s] if isinstance(s, int) else list(elements("broadcast_shapes", s)) for s in shapes]
    rank = max(map(len, lists), default=0)
    result = [1] * rank
    for sizes in lists:
        for i, size in enumerate(sizes, start=rank - len(sizes)):
            if size == 1 or size == result[i]:
                continue
            if result[i] != 1:
                shown = ", ".join(str(tuple(s)) for s in lists)
                raise RuntimeError(f"broadcast_shapes: {shown} do not broadcast in dimension {i}")
            result[i] = size
    return Size(result)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums products over pairs of dimensions.

    Args:
        a, b: tensors of one dtype.
        dims: an int n: the last n dimensions of `a` with the first n of `b`; or two lists of
            dimensions, of `a` and of `b`.

    Returns:
        The remaining dimensions of `a`, then those of `b`.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot: dims must not be negative, got {dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot: dims={dims} exceeds the {a.dim()} and {b.dim()} at hand"
            )
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(elements("tensordot", d)) for d in dims)
        left = [_wrapped("tensordot", d, a.dim()) for d in left]
        right = [_wrapped("tensordot", d, b.dim()) for d in right]
    if [a.shape[d] for d in left] != [b.shape[d] for d in right]:
        raise RuntimeError(
            f"tensordot: sizes of the summed dimensions differ: {[a.shape[d] for d in left]} of a, "
            f"{[b.shape[d] for d in right]} of b"
        )
    kept_a = [d for d in range(a.dim()) if d not in left]
    kept_b = [d for d in range(b.dim()) if d not in right]
    summed = math.prod(a.shape[d] for d in left)
    rows, columns = [a.shape[d] for d in kept_a], [b.shape[d] for d in kept_b]
    matrix_a = a.permute(kept_a + left).reshape(math.prod(rows), summed)
    matrix_b = b.permute(right + kept_b).reshape(summed, math.prod(columns))
    return flambeau.mm(matrix_a, matrix_b).reshape(rows + columns)
