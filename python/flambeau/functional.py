"""What no signature says: `broadcast_shapes` takes and returns shapes, no tensor, and the dims of
`tensordot` are a number or two lists. The operator behind it, which checks and computes, is an
entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import _C, Size, Tensor
from flambeau._values import brief, elements


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: if two sizes of a dimension differ and neither is 1.

    Example:
        >>> flambeau.broadcast_shapes((3, 1), (4,))
        flambeau.Size([3, 4])
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
                raise RuntimeError(f"broadcast_shapes(): {shown} do not broadcast in dimension {i}")
            result[i] = size
    return Size(result)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Sums products over pairs of dimensions.

    Args:
        a, b: tensors of one dtype.
        dims: an int n: the last n dimensions of `a` with the first n of `b`; or two lists of
            dimensions, of `a` and of `b`. A tensor stands for what it holds.
        out: a tensor that receives the result and is returned; it is resized where it is empty.

    Returns:
        The remaining dimensions of `a`, then those of `b`.

    Example:
        >>> a, b = flambeau.ones(3, 4, 5), flambeau.ones(4, 3, 2)
        >>> flambeau.tensordot(a, b, dims=([1, 0], [0, 1])).shape
        flambeau.Size([5, 2])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() != 1 else int(dims)
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot(): expected dims from 0 to {min(a.dim(), b.dim())}, which a and b "
                f"have, got {dims}"
            )
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        if not isinstance(dims, list | tuple):
            raise RuntimeError(
                f"tensordot(): expected dims to be an int or two lists, not {brief(dims)}"
            )
        pair = elements("tensordot", dims)
        if len(pair) != 2:
            raise ValueError(f"tensordot(): expected two lists as dims, got {len(pair)} items")
        left, right = ([d] if isinstance(d, int) else list(elements("tensordot", d)) for d in pair)
    return _C._internal.contract(a, b, left, right, out=out)


def __getattr__(name: str) -> Any:
    """Functions of `flambeau` are here, too, where PyTorch keeps those that it writes in Python."""
    found = None if name.startswith("_") else getattr(flambeau, name, None)
    if not callable(found):
        raise AttributeError(f"flambeau.functional has no '{name}'", name=name)
    return found
