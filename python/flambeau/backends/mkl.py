"""Intel's MKL."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: products of matrices are Flambeau's own kernels.

    Example:
        >>> flambeau.backends.mkl.is_available()
        False
    """
    return False
