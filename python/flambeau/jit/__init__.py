"""TorchScript: Flambeau runs programs as they are written, so `script` and `trace` return what they
are given, which computes the same. There are no files of compiled programs.

Args:
    obj, fn, func, mod: what is returned, or called.
    the_type, the_value, type: a value, and the type that it is said to have.
    target_type: a type; of generic ones the elements are looked at.
    future: what fork() returned.
    drop, optimize, example_inputs, inputs, other_methods, preserved_attrs, optimize_numerics,
        preserve_parameters, should_optimize, enabled, strategy: accepted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from flambeau import _lazy
from flambeau.nn import Module

__all__ = [
    "Attribute",
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")
_isinstance = isinstance


class ScriptModule(Module):
    """A Module: subclasses of former years, with methods marked by `script_method`, run as it.

    Example:
        >>> isinstance(flambeau.nn.ReLU(), flambeau.jit.ScriptModule)
        False
    """


class ScriptFunction:
    """The type of compiled functions: nothing is one.

    Example:
        >>> isinstance(len, flambeau.jit.ScriptFunction)
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("jit.ScriptFunction: Flambeau compiles no functions")


def script(
    obj: T,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> T:
    """The module, function or class itself: nothing is compiled.

    Example:
        >>> @script
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return obj


def trace(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The module or function itself: it is not run, and what it decides stays undecided.

    Args:
        func: a module or function.
        args, kwargs: example inputs and options, as PyTorch has them.

    Example:
        >>> layer = flambeau.nn.Linear(2, 1)
        >>> flambeau.jit.trace(layer, flambeau.ones(1, 2)) is layer
        True
    """
    return func


def trace_module(mod: Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Module:
    """The module itself.

    Example:
        >>> layer = flambeau.nn.Linear(2, 1)
        >>> flambeau.jit.trace_module(layer, {"forward": flambeau.ones(1, 2)}) is layer
        True
    """
    return mod


def script_method(fn: T) -> T:
    """The method itself.

    Example:
        >>> @flambeau.jit.script_method
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return fn


def script_if_tracing(fn: T) -> T:
    """The function itself.

    Example:
        >>> @flambeau.jit.script_if_tracing
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return fn


def export(fn: T) -> T:
    """The method itself.

    Example:
        >>> @flambeau.jit.export
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Marks a method that is not to be compiled, with or without parentheses: the method itself.

    Example:
        >>> @flambeau.jit.ignore
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return drop if callable(drop) else (lambda fn: fn)


def unused(fn: T) -> T:
    """The method itself.

    Example:
        >>> @flambeau.jit.unused
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return fn


def _overload(func: T) -> T:
    """Marks a signature of a function: Python takes the last definition anyway."""
    return func


_overload_method = _overload


def interface(obj: T) -> T:
    """The class itself.

    Example:
        >>> @flambeau.jit.interface
        ... class Shape:
        ...     pass
        >>> Shape.__name__
        'Shape'
    """
    return obj


def freeze(
    mod: Module,
    preserved_attrs: list[str] | None = None,
    optimize_numerics: bool = True,
    preserve_parameters: bool = False,
) -> Module:
    """The module itself.

    Raises:
        RuntimeError: it is in training mode.

    Example:
        >>> layer = flambeau.nn.Linear(2, 1).eval()
        >>> flambeau.jit.freeze(layer) is layer
        True
    """
    if mod.training:
        raise RuntimeError("jit.freeze(): the module is in training mode; call eval() first")
    return mod


def optimize_for_inference(mod: Module, other_methods: list[str] | None = None) -> Module:
    """The module itself, in evaluation mode.

    Example:
        >>> flambeau.jit.optimize_for_inference(flambeau.nn.Dropout()).training
        False
    """
    return mod.eval()


def annotate(the_type: Any, the_value: T) -> T:
    """The value.

    Example:
        >>> flambeau.jit.annotate(list[int], [1, 2])
        [1, 2]
    """
    return the_value


def Attribute(value: T, type: Any) -> T:
    """The value.

    Example:
        >>> flambeau.jit.Attribute(3, int)
        3
    """
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type; of `list[int]` and the like, its elements are looked at.

    Example:
        >>> flambeau.jit.isinstance([1, 2], list[int]), flambeau.jit.isinstance([1.], list[int])
        (True, False)
    """
    options = target_type if _isinstance(target_type, tuple) else (target_type,)
    return any(_is_of(obj, option) for option in options)


def _is_of(obj: Any, kind: Any) -> bool:
    origin: Any = getattr(kind, "__origin__", None)
    parts: Any = getattr(kind, "__args__", ())
    if origin is None:
        return kind is Any or _isinstance(obj, kind)
    if not _isinstance(origin, type):  # Optional, Union
        return any(_is_of(obj, part) for part in parts)
    if not _isinstance(obj, origin):
        return False
    if origin is dict:
        return all(_is_of(k, parts[0]) and _is_of(v, parts[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(parts) and all(map(_is_of, obj, parts))
    return all(_is_of(item, parts[0]) for item in obj)


def is_scripting() -> bool:
    """False.

    Example:
        >>> flambeau.jit.is_scripting()
        False
    """
    return False


def is_tracing() -> bool:
    """False.

    Example:
        >>> flambeau.jit.is_tracing()
        False
    """
    return False


class _Done:
    """The result of a call that fork() made."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        return self._value


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls the function, at once; `wait` gives the result.

    Example:
        >>> future = flambeau.jit.fork(flambeau.add, flambeau.ones(1), 2)
        >>> flambeau.jit.wait(future)
        tensor([3.])
    """
    return _Done(func(*args, **kwargs))


def wait(future: Any) -> Any:
    """The result of what fork() called.

    Example:
        >>> flambeau.jit.wait(flambeau.jit.fork(flambeau.add, flambeau.ones(1), 2))
        tensor([3.])
    """
    return future.wait()


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which nothing is compiled, as everywhere.

    Example:
        >>> with flambeau.jit.optimized_execution(False):
        ...     print(flambeau.ones(1) + 1)
        tensor([2.])
    """
    yield


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted: there is no compiler that would fuse.

    Example:
        >>> flambeau.jit.enable_onednn_fusion(True)
    """


def onednn_fusion_enabled() -> bool:
    """False.

    Example:
        >>> flambeau.jit.onednn_fusion_enabled()
        False
    """
    return False


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Accepted: there is no compiler that would fuse. Returns what was set before: nothing.

    Example:
        >>> flambeau.jit.set_fusion_strategy([("STATIC", 2)])
        []
    """
    return []


__getattr__ = _lazy.unavailable(__name__, "Flambeau compiles no programs, and keeps none in files")
