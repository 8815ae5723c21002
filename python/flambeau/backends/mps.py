"""Apple's GPUs."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_available() -> bool:
    """False: there is no backend for them.

    Example:
        >>> flambeau.backends.mps.is_available()
        False
    """
    return False


def is_built() -> bool:
    """False: there is no backend for them.

    Example:
        >>> flambeau.backends.mps.is_built()
        False
    """
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: Flambeau runs on Linux.

    Args:
        major, minor: of the version.

    Example:
        >>> flambeau.backends.mps.is_macos_or_newer(14, 0)
        False
    """
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """False: Flambeau runs on Linux.

    Args:
        minor: of the version.

    Example:
        >>> flambeau.backends.mps.is_macos13_or_newer()
        False
    """
    return False
