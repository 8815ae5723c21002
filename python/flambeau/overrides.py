"""Functions that other classes take over: Flambeau's functions take Tensors and their subclasses,
and call no `__torch_function__`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau import Tensor, _lazy

__all__ = ["has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"]
__all__ += ["is_tensor_like"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """False: none of them is asked."""
    return False


def has_torch_function_unary(arg: Any) -> bool:
    """False: it is not asked."""
    return False


def has_torch_function_variadic(*args: Any) -> bool:
    """False: none of them is asked."""
    return False


def is_tensor_like(inp: Any) -> bool:
    """Whether functions take it as a tensor: it is one."""
    return isinstance(inp, Tensor)


__getattr__ = _lazy.unavailable(__name__, "Flambeau's functions call no __torch_function__")
