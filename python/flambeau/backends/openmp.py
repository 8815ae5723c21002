"""OpenMP."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: threads are Flambeau's own.

    Example:
        >>> flambeau.backends.openmp.is_available()
        False
    """
    return False
