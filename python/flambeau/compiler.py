"""Compilation: Flambeau runs programs as they are written, so that nothing here changes a result.

`compile(model)` returns the model. What marks code for a compiler returns it unchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar

from flambeau import _lazy

__path__: list[str] = []  # of parts that are not there: _absent_modules
__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
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


class set_stance(ContextDecorator):
    """Nothing: a function, a context or a decorator that says how to treat what was compiled.

    Args:
        stance: "default", "force_eager" and so on; accepted.
        options: accepted as PyTorch has them.

    Example:
        >>> with flambeau.compiler.set_stance("force_eager"):
        ...     print(flambeau.compiler.is_compiling())
        False
    """

    def __init__(self, stance: str = "default", **options: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function itself.

    Args:
        fn: a function; None: the result decorates one.
        options: accepted as PyTorch has them.

    Example:
        >>> flambeau.compiler.nested_compile_region(len) is len
        True
    """
    return _identity if fn is None else fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Any:
    """A decorator that returns a function as it is: nothing takes its place.

    Args:
        original_fn: what a compiler would replace.
        options: accepted as PyTorch has them.

    Example:
        >>> flambeau.compiler.substitute_in_graph(len)(sum) is sum
        True
    """
    return _identity


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as one of tensors: arrays that it returns become tensors.

    Args:
        fn: takes and returns arrays, and lists, tuples and dicts of them.

    Example:
        >>> double = flambeau.compiler.wrap_numpy(lambda array: array * 2)
        >>> double(flambeau.ones(2))
        tensor([2., 2.])
    """
    import numpy as np

    import flambeau
    from flambeau.utils._pytree import tree_map_only

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        taken = tree_map_only(flambeau.Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only(np.ndarray, flambeau.from_numpy, fn(*taken[0], **taken[1]))

    return functools.wraps(fn)(wrapped)


_backend: Any = "inductor"


def set_default_backend(backend: Any) -> None:
    """Notes a backend: there is no compiler that would use it.

    Args:
        backend: a name or a function; None: "inductor" again.

    Example:
        >>> flambeau.compiler.set_default_backend("eager")
        >>> flambeau.compiler.get_default_backend()
        'eager'
        >>> flambeau.compiler.set_default_backend(None)
    """
    global _backend
    _backend = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """What was noted.

    Example:
        >>> flambeau.compiler.get_default_backend()
        'inductor'
    """
    return _backend


__getattr__ = _lazy.unavailable(__name__, "Flambeau has no compiler")
