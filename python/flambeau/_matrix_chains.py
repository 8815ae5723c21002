"""Products of several matrices, in the order that takes the fewest multiplications."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flambeau import _C
from flambeau._C import Tensor


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of matrices, in the order that takes the fewest multiplications.

    `tensors`: two or more, each of two dims; the first may be a row and the last a column of one
    dim, which the result then lacks. The order is found by dynamic programming: T. H. Cormen et
    al., Introduction to Algorithms, section 15.2. RuntimeError where shapes do not multiply.

    Args:
        out: None, or a tensor that receives the product.

    Example:
        >>> a, b, c = flambeau.ones(2, 3), flambeau.ones(3, 4), flambeau.ones(4, 1)
        >>> flambeau.linalg.multi_dot([a, b, c])
        tensor([[12.],
                [12.]])
    """
    matrices = list(tensors)
    if len(matrices) < 2:
        raise RuntimeError(f"multi_dot(): expected at least two tensors, got {len(matrices)}")
    for index, matrix in enumerate(matrices):
        is_end = index in (0, len(matrices) - 1)
        if matrix.dim() != 2 and not (is_end and matrix.dim() == 1):
            raise RuntimeError(
                "multi_dot(): expected matrices, and vectors at the ends alone, "
                f"got shape {tuple(matrix.shape)} at place {index}"
            )
    is_row, is_column = matrices[0].dim() == 1, matrices[-1].dim() == 1
    matrices[0] = matrices[0].unsqueeze(0) if is_row else matrices[0]
    matrices[-1] = matrices[-1].unsqueeze(1) if is_column else matrices[-1]
    for left, right in pairwise(matrices):
        _check_pair(left, right)
    product = _product(matrices, _splits(matrices), 0, len(matrices) - 1)
    product = product.squeeze(0) if is_row else product
    product = product.squeeze(-1) if is_column else product
    return product if out is None else _C.add(product, 0, out=out)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices, in the order that takes the fewest multiplications; one is copied.

    `linalg.multi_dot` does the same of a sequence. RuntimeError where shapes do not multiply.

    Args:
        out: None, or a tensor that receives the product.

    Example:
        >>> a, b, c = flambeau.ones(2, 3), flambeau.ones(3, 4), flambeau.ones(4, 1)
        >>> flambeau.chain_matmul(a, b, c).shape
        flambeau.Size([2, 1])
    """
    if len(matrices) == 0:
        raise RuntimeError("chain_matmul(): expected at least one matrix")
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(
                f"chain_matmul(): expected matrices, got shape {tuple(matrix.shape)}"
            )
    if len(matrices) == 1:
        return matrices[0].clone() if out is None else _C.add(matrices[0], 0, out=out)
    return multi_dot(matrices, out=out)


def _check_pair(left: Tensor, right: Tensor) -> None:
    if left.shape[1] != right.shape[0]:
        raise RuntimeError(
            f"multi_dot(): shapes {tuple(left.shape)} and {tuple(right.shape)} do not multiply"
        )
    if left.dtype != right.dtype or left.device != right.device:
        raise RuntimeError(
            "multi_dot(): expected tensors of one dtype and device, got "
            f"{left.dtype} on {left.device} and {right.dtype} on {right.device}"
        )


def _splits(matrices: Sequence[Tensor]) -> dict[tuple[int, int], int]:
    """Of each part of the chain, by its first and last matrix, after which one it is cut."""
    sizes = [m.shape[0] for m in matrices] + [matrices[-1].shape[1]]
    costs: dict[tuple[int, int], int] = {(i, i): 0 for i in range(len(matrices))}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, len(matrices)):
        for first in range(len(matrices) - length):
            last = first + length
            outer = sizes[first] * sizes[last + 1]
            found = [
                (costs[first, cut] + costs[cut + 1, last] + outer * sizes[cut + 1], cut)
                for cut in range(first, last)
            ]
            costs[first, last], splits[first, last] = min(found)
    return splits


def _product(
    matrices: Sequence[Tensor], splits: dict[tuple[int, int], int], first: int, last: int
) -> Any:
    if first == last:
        return matrices[first]
    cut = splits[first, last]
    left = _product(matrices, splits, first, cut)
    return _C.mm(left, _product(matrices, splits, cut + 1, last))
