"""Names of PyTorch's module of helpers that programs of several processes use."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of tensors of one dtype, one tensor after the other.

    Example:
        >>> _flatten_dense_tensors([flambeau.ones(2), flambeau.zeros(1, 1)])
        tensor([1., 1., 0.])
    """
    return flambeau.cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a flat tensor, of the shapes of others.

    Example:
        >>> _unflatten_dense_tensors(flambeau.arange(3), [flambeau.ones(2), flambeau.zeros(1, 1)])
        (tensor([0, 1]), tensor([[2]]))
    """
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors, strict=True))
