"""Attention whose scores a function changes: not available, as it needs a compiler."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["AuxRequest", "BlockMask", "create_block_mask", "flex_attention"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128  # libraries take it as a default
_REASON = "flex_attention needs a compiler, which Flambeau does not have"


class BlockMask:
    """Which blocks of scores are computed: none can be made.

    Example:
        >>> isinstance(flambeau.ones(2), BlockMask)  # what libraries ask
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"BlockMask: {_REASON}")


class AuxRequest:
    """What else attention is to return: none can be asked for.

    Example:
        >>> AuxRequest(lse=True)
        Traceback (most recent call last):
            ...
        RuntimeError: AuxRequest: flex_attention needs a compiler, which Flambeau does not have
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"AuxRequest: {_REASON}")


def create_block_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises:
    RuntimeError: it is not available.

    Example:
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 8, 8)
        Traceback (most recent call last):
            ...
        RuntimeError: create_block_mask(): flex_attention needs a compiler, which Flambeau does not
        have
    """
    raise RuntimeError(f"create_block_mask(): {_REASON}")


def flex_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises:
    RuntimeError: it is not available; use scaled_dot_product_attention with a mask.

    Example:
        >>> from flambeau.nn.functional import scaled_dot_product_attention
        >>> q, k, v = flambeau.randn(3, 1, 2, 4, 8).unbind(0)
        >>> distance = flambeau.arange(4) - flambeau.arange(4)[:, None]
        >>> mask = 0.1 * distance  # what a score function would add
        >>> scaled_dot_product_attention(q, k, v, attn_mask=mask).shape
        flambeau.Size([1, 2, 4, 8])
    """
    raise RuntimeError(f"flex_attention(): {_REASON}; use scaled_dot_product_attention")
