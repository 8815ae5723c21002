"""Orders of products in einsum."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: einsum orders them itself, without the package opt_einsum.

    Example:
        >>> flambeau.backends.opt_einsum.is_available()
        False
    """
    return False
