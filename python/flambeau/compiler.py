"""Compilation: Flambeau runs programs as they are written, so that nothing here changes a result.

`compile(model)` returns the model. What marks code for a compiler returns it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flambeau import _lazy

__path__: list[str] = []  # of parts that are not there: _absent_modules
__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
]

T = TypeVar("T")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """The model or function itself: there is no compiler, and what it computes is the same.

    Args:
        model: what to compile; None: the result decorates a function.
        fullgraph, dynamic, backend, mode, options, disable: accepted as PyTorch has them.

    Raises:
        TypeError: model cannot be called.

    Example:
        >>> @compile
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    if model is None:
        return _identity
    if not callable(model):
        raise TypeError(f"compile(): expected a module or a function, got {type(model).__name__}")
    return model


def _identity(fn: T) -> T:
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Keeps a function from being compiled, as all are: the function itself, or a decorator.

    Args:
        fn: a function; None: returns a decorator.
        recursive, reason: accepted.

    Example:
        >>> @flambeau.compiler.disable
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return _identity if fn is None else fn


def allow_in_graph(fn: T) -> T:
    """The function itself.

    Args:
        fn: a function.

    Example:
        >>> flambeau.compiler.allow_in_graph(len) is len
        True
    """
    return fn


def assume_constant_result(fn: T) -> T:
    """The function itself, called every time.

    Args:
        fn: a function.

    Example:
        >>> flambeau.compiler.assume_constant_result(len) is len
        True
    """
    return fn


def is_compiling() -> bool:
    """False.

    Example:
        >>> flambeau.compiler.is_compiling()
        False
    """
    return False


def is_dynamo_compiling() -> bool:
    """False.

    Example:
        >>> flambeau.compiler.is_dynamo_compiling()
        False
    """
    return False


def is_exporting() -> bool:
    """False.

    Example:
        >>> flambeau.compiler.is_exporting()
        False
    """
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """An empty list: there is no compiler.

    Args:
        exclude_tags: accepted.

    Example:
        >>> flambeau.compiler.list_backends()
        []
    """
    return []


def reset() -> None:
    """Nothing is compiled, so that there is nothing to forget.

    Example:
        >>> flambeau.compiler.reset()
    """


def cudagraph_mark_step_begin() -> None:
    """There are no recorded graphs whose memory a step could reuse.

    Example:
        >>> flambeau.compiler.cudagraph_mark_step_begin()
    """


__getattr__ = _lazy.unavailable(__name__, "Flambeau has no compiler")
