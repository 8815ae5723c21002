"""Making modules without drawing their weights."""

from __future__ import annotations

from typing import Any

from flambeau._values import brief
from flambeau.nn.module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A module whose parameters and buffers have whatever values are in memory.

    Args:
        module_cls: its class, which takes `device` and gives its tensors no values that it keeps
            elsewhere.
        args, kwargs: what it is made with; device: where it comes to be.

    Raises:
        TypeError: it is no class of a module.

    Example:
        >>> layer = flambeau.nn.utils.skip_init(flambeau.nn.Linear, 3, 2)
        >>> layer.weight.shape
        flambeau.Size([2, 3])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise TypeError(f"skip_init: expected a class of modules, got {brief(module_cls)}")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
