"""Handles of hooks."""

# mypy: implicit-reexport
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.nn.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Says of a hook that it is not to be saved with a tensor: none is.

    Args:
        f: the hook.

    Example:
        >>> hook = flambeau.utils.hooks.unserializable_hook(lambda grad: grad * 2)
        >>> hook(3)
        6
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
