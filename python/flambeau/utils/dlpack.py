"""Sharing memory with other libraries through DLPack."""

# mypy: implicit-reexport
from __future__ import annotations

from typing import Any

import flambeau
from flambeau._C import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: flambeau.Tensor) -> Any:
    """A DLPack capsule of the tensor's memory; whoever takes it over frees it.

    Example:
        >>> capsule = flambeau.utils.dlpack.to_dlpack(flambeau.ones(2))
        >>> flambeau.from_dlpack(capsule)
        tensor([1., 1.])
    """
    return tensor.__dlpack__()
