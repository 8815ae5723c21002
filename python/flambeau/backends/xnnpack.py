"""XNNPACK."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: convolutions are Flambeau's own kernels.

    Example:
        >>> flambeau.backends.xnnpack.is_available()
        False
    """
    return False
