"""Helpers of PyTorch's that its test code takes from public modules, lent to Flambeau's: which
elements of a masked operation mean something. They read shapes and masks, and compute nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import flambeau

_OF_MASKS = ("_input_mask", "_output_mask")


def lend() -> None:
    """Gives them to Flambeau's modules, of this process alone."""
    for name in _OF_MASKS:
        setattr(flambeau.masked, name, _carried(getattr(torch.masked, name)))


def _carried(helper: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        found = helper(*map(_theirs, args), **{key: _theirs(v) for key, v in kwargs.items()})
        return flambeau.from_numpy(found.numpy().copy())

    return run


def _theirs(value: Any) -> Any:
    """A mask with its elements, of another tensor the shape, the function of the same name."""
    if isinstance(value, flambeau.Tensor):
        if value.dtype is flambeau.bool:
            return torch.from_numpy(value.detach().numpy().copy())
        return torch.empty(tuple(value.shape), device="meta")
    return getattr(torch.masked, value.__name__.rpartition(".")[2]) if callable(value) else value
