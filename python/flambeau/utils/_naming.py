"""Saying which module a function or class is of."""

from __future__ import annotations

from typing import Any


def set_module(obj: Any, mod: str) -> None:
    """Says that a function or class is of a module.

    Args:
        obj: the function or class.
        mod: the module's name.

    Raises:
        TypeError: the name is no str.

    Example:
        >>> def double(x):
        ...     return 2 * x
        >>> flambeau.utils.set_module(double, "mine")
        >>> double.__module__
        'mine'
    """
    if not isinstance(mod, str):
        raise TypeError(f"set_module(): expected the name of a module, got {type(mod).__name__}")
    obj.__module__ = mod
