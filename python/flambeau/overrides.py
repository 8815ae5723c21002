"""Functions that other classes take over: what `__torch_function__` is, and who is asked.

Before a function computes, those of its arguments are asked whose class defines
`__torch_function__(func, types, args=(), kwargs=None)`, from left to right, subclasses before their
bases, and before them the modes that are on, the innermost first. Who answers `NotImplemented`
leaves it to the next. Nobody is asked where all tensors are Tensors or Parameters, and no mode is
on: that costs nothing.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from inspect import signature
from typing import Any, ClassVar

import flambeau
from flambeau import Tensor, _torch_function
from flambeau._C import _overrides
from flambeau._modes import Mode, Stack, unchanged

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


# Asking -------------------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is on, or the class of an argument wants to be asked.

    Args:
        relevant_args: the arguments.

    Example:
        >>> flambeau.overrides.has_torch_function((flambeau.ones(1), 2))
        False
    """
    return _overrides.has_torch_function(tuple(relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument.

    Args:
        arg: the argument.

    Example:
        >>> flambeau.overrides.has_torch_function_unary(flambeau.ones(1))
        False
    """
    return _overrides.has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments.

    Example:
        >>> flambeau.overrides.has_torch_function_variadic(flambeau.ones(1), 2)
        False
    """
    return _overrides.has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What those who are asked make of a call of `public_api`.

    Args:
        public_api: the function that users called.
        relevant_args: the arguments whose classes are asked.
        args, kwargs: all arguments.

    Raises:
        TypeError: nobody is asked, or all answer NotImplemented.

    Example:
        >>> class Loud(flambeau.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return f"{func.__name__} of {len(args)}"
        >>> def scale(x, factor):
        ...     if flambeau.overrides.has_torch_function((x,)):
        ...         return flambeau.overrides.handle_torch_function(scale, (x,), x, factor)
        ...     return factor * x
        >>> scale(flambeau.ones(2), 3), scale(flambeau.ones(2).as_subclass(Loud), 3)
        (tensor([3., 3.]), 'scale of 2')
    """
    return _overrides.handle_torch_function(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorates a function written in Python so that classes can take it over.

    Args:
        dispatcher: gives, for the function's arguments, those whose classes are asked.

    Example:
        >>> @flambeau.overrides.wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return 2 * x
        >>> double(flambeau.ones(1))
        tensor([2.])
    """

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if _overrides.has_torch_function(relevant):
                return _overrides.handle_torch_function(run, relevant, args, kwargs)
            return func(*args, **kwargs)

        return run

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether functions take it as a tensor: it is one, or its class has a `__torch_function__`.

    Args:
        inp: any object.

    Example:
        >>> from flambeau.overrides import is_tensor_like
        >>> is_tensor_like(flambeau.ones(1)), is_tensor_like(1)
        (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


# Modes --------------------------------------------------------------------------------------------


class TorchFunctionMode(Mode):
    """A context whose `__torch_function__` is asked before the arguments of every function.

    Subclasses define `__torch_function__(self, func, types, args=(), kwargs=None)`. While it runs
    the mode is off, and those around it are on.

    Example:
        >>> class Spy(flambeau.overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Spy():
        ...     _ = flambeau.exp(flambeau.ones(1))
        ones
        exp
    """

    _modes: ClassVar[Stack] = _overrides

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_function__")


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing.

    Example:
        >>> with flambeau.overrides.BaseTorchFunctionMode():
        ...     print(flambeau.ones(1) + 1)
        tensor([2.])
    """

    __torch_function__ = unchanged


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context in which all classes are asked, also inside a `__torch_function__`.

    Example:
        >>> with flambeau.overrides.enable_reentrant_dispatch():
        ...     print(flambeau.ones(1) + 1)
        tensor([2.])
    """
    before = _overrides.set_asked(0)
    try:
        yield
    finally:
        _overrides.set_asked(before)


# What there is to take over -----------------------------------------------------------------------


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results Tensor's own `__torch_function__` leaves as they are.

    Example:
        >>> len(flambeau.overrides.get_default_nowrap_functions()) > 0
        True
    """
    return set(_torch_function.NOT_CONVERTED)


_SPACES = ("", "nn.functional", "linalg", "fft", "special", "masked")


def _space(name: str) -> Any:
    found: Any = flambeau
    for part in name.split(".") if name else ():
        found = getattr(found, part)
    return found


@cache
def _names() -> dict[Any, str]:
    """Every function, method and accessor that classes can take over, and what it is called."""
    found: dict[Any, str] = {}
    for name, member in vars(Tensor).items():
        if isinstance(member, types.MethodDescriptorType | types.WrapperDescriptorType):
            found[member] = f"torch.Tensor.{name}"
        elif isinstance(member, types.GetSetDescriptorType):
            found[member.__get__] = f"torch.Tensor.{name}.__get__"
            found[member.__set__] = f"torch.Tensor.{name}.__set__"
    for space in _SPACES:
        path = ".".join(filter(None, ("torch", space)))
        for name, member in vars(_space(space)).items():
            if isinstance(member, types.BuiltinFunctionType) and not name.startswith("_"):
                found.setdefault(member, f"{path}.{name}")
    return found


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """By namespace the functions, and by Tensor the methods, that classes can take over.

    Example:
        >>> functions = flambeau.overrides.get_overridable_functions()
        >>> flambeau.add in functions[flambeau]
        True
    """
    known = _names()
    found = {
        _space(space): [f for f in vars(_space(space)).values() if _hashed(f) in known]
        for space in _SPACES
    }
    methods = [f for f, name in known.items() if name.startswith("torch.Tensor.")]
    return {**found, Tensor: methods}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that classes cannot take over: those written in Python, whose calls of
    others can be.

    Example:
        >>> ignored = flambeau.overrides.get_ignored_functions()
        >>> flambeau.is_tensor in ignored, flambeau.add in ignored
        (True, False)
    """
    functions = (member for space in _SPACES for member in vars(_space(space)).values())
    return {f for f in functions if isinstance(f, types.FunctionType) and f.__name__[0] != "_"}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    """For each function that classes can take over one that takes the same and returns -1.

    Example:
        >>> flambeau.overrides.get_testing_overrides()[flambeau.add](flambeau.ones(1), 2)
        -1
    """
    return {function: _stand_in(function) for function in _names()}


def _stand_in(function: Callable[..., Any]) -> Callable[..., int]:
    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1

    with suppress(ValueError, TypeError):  # it has more than one
        stand_in.__signature__ = signature(function)  # type: ignore[attr-defined]
    return stand_in


def _hashed(value: Any) -> Any:
    return value if isinstance(value, types.BuiltinFunctionType) else None


def resolve_name(f: Callable[..., Any]) -> str | None:
    """What a function or method that `__torch_function__` was given is called, as users of PyTorch
    write it: "torch.Tensor.add"; None for others.

    Args:
        f: the function or method.

    Example:
        >>> flambeau.overrides.resolve_name(flambeau.Tensor.add)
        'torch.Tensor.add'
    """
    return _names().get(f)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is a method of Tensor, or reads or writes an attribute.

    Args:
        func: what `__torch_function__` was given.

    Example:
        >>> flambeau.overrides.is_tensor_method_or_property(flambeau.Tensor.add)
        True
    """
    return (resolve_name(func) or "").startswith("torch.Tensor.")
