"""Masks of attention in which queries do not see what follows them."""

from __future__ import annotations

import enum

import flambeau
from flambeau import Tensor, _lazy

__all__ = ["CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner of a mask that is not square the diagonal begins in.

    Example:
        >>> from flambeau.nn.attention.bias import CausalVariant
        >>> CausalVariant.LOWER_RIGHT.name
        'LOWER_RIGHT'
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


def causal_upper_left(*size: int) -> Tensor:
    """A mask [queries, keys]: the first query sees the first key, each one more.

    Args:
        size: of the queries and of the keys.

    Example:
        >>> from flambeau.nn.attention.bias import causal_upper_left
        >>> causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    return _square(size).tril()


def causal_lower_right(*size: int) -> Tensor:
    """A mask [queries, keys]: the last query sees all keys, each before it one less.

    Args:
        size: of the queries and of the keys.

    Example:
        >>> from flambeau.nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    mask = _square(size)
    return mask.tril(mask.shape[1] - mask.shape[0])


def _square(size: tuple[int, ...]) -> Tensor:
    if len(size) != 2:
        raise RuntimeError(f"causal masks: expected two sizes, got {len(size)}")
    return flambeau.ones(*size, dtype=flambeau.bool)


__getattr__ = _lazy.unavailable(__name__, "masks are tensors, of no class of their own")
