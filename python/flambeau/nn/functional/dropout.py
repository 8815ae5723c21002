"""Dropout (N. Srivastava et al., 2014) in place, and its variants for SELU."""

from __future__ import annotations

import math
from collections.abc import Callable

import flambeau
from flambeau import _C, Tensor

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]

_space = _C.nn.functional


def _check(name: str, p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: the probability p must be within [0, 1], got {p}")


def _apply(
    function: Callable[..., Tensor], input: Tensor, p: float, training: bool, inplace: bool
) -> Tensor:
    if not inplace:
        return function(input, p, training)
    factor = function(flambeau.ones_like(input), p, training)
    return input.mul_(factor) if training else input


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes each element with probability p and scales the others by 1 / (1 - p).

    Args:
        input: any shape, floating.
        p: probability of zeroing.
        training: False: return the input.
        inplace: overwrite the input.
    """
    return _apply(_space.dropout, input, p, training, inplace)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels of (N, C, L) or (C, L)."""
    return _apply(_space.dropout1d, input, p, training, inplace)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels of (N, C, H, W) or (C, H, W)."""
    return _apply(_space.dropout2d, input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    _check("dropout3d", p)
    if input.dim() not in (4, 5):
        raise RuntimeError(f"dropout3d: expected 4 or 5 dims, got shape {tuple(input.shape)}")
    if not training:
        return input
    channels = input.dim() - 3
    shape = [*input.shape[:channels], 1, 1, 1]
    factor = _space.dropout(input.new_ones(shape), p, True)
    return input.mul_(factor) if inplace else input * factor


# The value that SELU approaches at minus infinity (Klambauer et al., 2017).
_SELU_LIMIT = -1.7580993408473766


def _alpha(input: Tensor, p: float, shape: list[int], inplace: bool) -> Tensor:
    if p == 1.0:
        return input.mul_(0.0) if inplace else input * 0.0
    kept = input.new_empty(shape).bernoulli_(1 - p)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_LIMIT**2))
    shift = -scale * p * _SELU_LIMIT
    offset = (1 - kept) * (_SELU_LIMIT * scale) + shift
    factor = kept * scale
    return input.mul_(factor).add_(offset) if inplace else input * factor + offset


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps zero mean and unit variance: dropped elements become SELU's limit."""
    _check("alpha_dropout", p)
    if not training or p == 0.0:
        return input
    return _alpha(input, p, list(input.shape), inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels: dimensions 0 and 1 are samples and channels."""
    _check("feature_alpha_dropout", p)
    if not training or p == 0.0:
        return input
    return _alpha(input, p, [*input.shape[:2], *[1] * (input.dim() - 2)], inplace)
