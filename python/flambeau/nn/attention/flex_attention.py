"""Attention whose scores a function changes: not available, as it needs a compiler."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["AuxRequest", "BlockMask", "create_block_mask", "flex_attention"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128  # libraries take it as a default
_REASON = "flex_attention needs a compiler, which Flambeau does not have"


class BlockMask:
    """Which blocks of scores are computed: none can be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"BlockMask: {_REASON}")


class AuxRequest:
    """What else attention is to return: none can be asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"AuxRequest: {_REASON}")


def create_block_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises:
    RuntimeError: it is not available.
    """
    raise RuntimeError(f"create_block_mask(): {_REASON}")


def flex_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises:
    RuntimeError: it is not available; use scaled_dot_product_attention with a mask.
    """
    raise RuntimeError(f"flex_attention(): {_REASON}; use scaled_dot_product_attention")
