"""Masks of attention in which queries do not see what follows them."""

from __future__ import annotations

import enum
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._C import _disabled_torch_function_impl

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner of a mask that is not square the diagonal begins in.

    Example:
        >>> from flambeau.nn.attention.bias import CausalVariant
        >>> CausalVariant.LOWER_RIGHT.name
        'LOWER_RIGHT'
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A mask [queries, keys] that knows its variant; in operators it is as any tensor.

    Args:
        variant: where the diagonal begins.
        seq_len_q: how many queries.
        seq_len_kv: how many keys.

    Example:
        >>> from flambeau.nn.attention.bias import CausalBias, CausalVariant
        >>> CausalBias(CausalVariant.UPPER_LEFT, 2, 2)
        tensor([[ True, False],
                [ True,  True]])
    """

    __torch_function__ = _disabled_torch_function_impl
    _prints_as_tensor = True

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        offset = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        mask: Any = flambeau.ones(seq_len_q, seq_len_kv, dtype=flambeau.bool).tril(offset)
        found: CausalBias = mask.as_subclass(cls)
        found.variant, found.seq_len_q, found.seq_len_kv = variant, seq_len_q, seq_len_kv
        return found


def causal_upper_left(*size: int) -> CausalBias:
    """A mask [queries, keys]: the first query sees the first key, each one more.

    Args:
        size: of the queries and of the keys.

    Example:
        >>> from flambeau.nn.attention.bias import causal_upper_left
        >>> causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size))


def causal_lower_right(*size: int) -> CausalBias:
    """A mask [queries, keys]: the last query sees all keys, each before it one less.

    Args:
        size: of the queries and of the keys.

    Example:
        >>> from flambeau.nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size))


def _two(size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise RuntimeError(f"causal masks: expected two sizes, got {len(size)}")
    return size[0], size[1]
