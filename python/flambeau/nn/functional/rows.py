"""Looking up rows of a table. The operator looks up; what is here scales rows of the table first,
in place and out of sight of autograd, which a body cannot.
"""

from __future__ import annotations

import flambeau
from flambeau import _C, Tensor

__all__ = ["embedding"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` names.

    Args:
        input: int32 or int64, any shape.
        weight: (rows, features).
        padding_idx: a row that gets no gradient.
        max_norm: rows looked up that are longer are first scaled down to it, in place.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        sparse: must be False: every gradient is dense.

    Returns:
        (*input.shape, features).
    """
    if sparse:
        raise NotImplementedError("embedding: sparse=True is not supported; gradients are dense")
    if max_norm is not None:
        with flambeau.no_grad():
            _limit_rows(weight, input, max_norm, norm_type)
    return _C.nn.functional.embedding(
        input, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq
    )


def _limit_rows(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    rows = flambeau.unique(input.reshape(-1))
    found = weight.index_select(0, rows)
    length = _C.linalg.vector_norm(found, norm_type, [1], True)
    shrunk = found * (max_norm / (length + 1e-7))
    weight.index_copy_(0, rows, flambeau.where(length > max_norm, shrunk, found))
