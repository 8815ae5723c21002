"""Functions about what transforms do to tensors and to functions that write in place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flambeau import Tensor
from flambeau._values import brief
from flambeau.func._batched import Batched

__all__ = ["debug_unwrap", "functionalize"]

_REMOVED = ("mutations", "mutations_and_views")


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor of all slices behind one that `vmap` shows to a function; others as they are.

    For looking at values: results computed from it are not part of the transform.

    Args:
        tensor: what the function sees.
        recurse: whether those of enclosing `vmap`s are unwrapped too.

    Example:
        >>> def double(x):
        ...     print(x.shape, flambeau.func.debug_unwrap(x).shape)
        ...     return 2 * x
        >>> flambeau.func.vmap(double)(flambeau.ones(3, 2)).shape
        flambeau.Size([2]) flambeau.Size([3, 2])
        flambeau.Size([3, 2])
    """
    while isinstance(tensor, Batched):
        tensor = tensor.batch_value
        if not recurse:
            break
    return tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function with the results and effects of `func`.

    Operations run as they are called here: none is handed to a compiler that could not write in
    place. So there is nothing that a replacement of writes, or of views, could be seen by.

    Args:
        func: any function.
        remove: 'mutations' or 'mutations_and_views'.

    Raises:
        RuntimeError: if `remove` is another word.

    Example:
        >>> flambeau.func.functionalize(lambda x: x.clone().add_(1))(flambeau.zeros(2))
        tensor([1., 1.])
    """
    if remove not in _REMOVED:
        raise RuntimeError(
            "functionalize(): remove must be 'mutations' or 'mutations_and_views', got "
            f"{brief(remove)}"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapped
