"""Operators that other classes see below autograd: what `__torch_dispatch__` is, and who is asked.

Importing this module attaches it to the compiled type.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import _C
from flambeau._C import Tensor, _overrides, _taken
from flambeau._torch_function import DisableTorchFunction
from flambeau._values import brief

is_set = False


def install() -> None:
    """From now on C++ asks here."""
    global is_set
    if not is_set:
        is_set = True
        _taken.set_dispatch(seen)


def push_mode(mode: Any) -> None:
    """Turns a mode on, inside those that are."""
    install()
    _taken.push_mode(mode)


pop_mode = _taken.pop_mode


@contextmanager
def modes_off() -> Iterator[None]:
    """A context in which no mode is asked."""
    modes = [_taken.pop_mode() for _ in _taken.modes()]
    try:
        yield
    finally:
        for mode in reversed(modes):
            _taken.push_mode(mode)


def seen(name: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What those who are asked make of an operator: its results in order, None where C++ computes
    them.

    Args:
        name: of the function in C++.
        values: all its arguments.

    Raises:
        TypeError: all answer NotImplemented, or with something that is no tensor.
    """
    from flambeau._ops import overload_of
    from flambeau.func._batching_table import called_as

    called = called_as(name)
    if called is None:
        return None
    args, kwargs = called.call(values)
    instances = _instances((*args, *kwargs.values()))
    kinds = tuple(type(x) for x in instances)
    # What is bound to the operator is no argument of it.
    given = {n: v for n, v in kwargs.items() if n not in called.chosen}
    with DisableTorchFunction():
        result = _asked(overload_of(called, values), kinds, args, given)
    parts = tuple(result) if isinstance(result, tuple | list) else (result,)
    for part in parts:
        if part is not None and not isinstance(part, Tensor):
            raise TypeError(
                f"__torch_dispatch__ of {called.key} must return tensors, got {type(part).__name__}"
            )
    return tuple(p for p in parts if p is not None) if result is None else parts


def asked_of(func: Any, args: Any, kwargs: Any) -> tuple[bool, Any]:
    """Whether somebody is asked of an operator that Python computes, and what they make of it."""
    instances = _instances((*args, *kwargs.values()))
    if not instances and not _taken.modes():
        return False, None
    with DisableTorchFunction():
        return True, _asked(func, tuple(type(x) for x in instances), args, kwargs)


def _asked(func: Any, kinds: tuple[type, ...], args: Any, kwargs: Any) -> Any:
    modes = _taken.modes()
    if modes:
        mode = _taken.pop_mode()
        try:
            result = _answer(mode, type(mode), func, kinds, args, kwargs)
        finally:
            _taken.push_mode(mode)
        if result is not NotImplemented:
            return result
    for kind in kinds:
        result = _answer(kind, kind, func, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation of {func!r}: __torch_dispatch__ of all of {kinds}, and of the mode "
        "that is on, returned NotImplemented"
    )


def _answer(
    asked: Any, cls: type, func: Any, kinds: tuple[type, ...], args: Any, kwargs: Any
) -> Any:
    """That of a mode or a subclass; a custom operator may have registered another for its class."""
    rule = getattr(func, "dispatch_rules", {}).get(cls)
    if rule is not None:
        return rule(asked, func, kinds, args, kwargs)
    return asked.__torch_dispatch__(func, kinds, args, kwargs)


def _instances(values: tuple[Any, ...]) -> list[Tensor]:
    """The tensors whose classes are asked, one of each: subclasses before their bases."""
    found: list[Tensor] = []
    for value in values:
        items = value if isinstance(value, list | tuple) else (value,)
        for item in items:
            if isinstance(item, Tensor) and _is_asked(type(item)):
                if any(type(other) is type(item) for other in found):
                    continue
                places = [i for i, other in enumerate(found) if isinstance(item, type(other))]
                found.insert(places[0] if places else len(found), item)
    return found


def _is_asked(cls: type) -> bool:
    return getattr(cls, "__torch_dispatch__", None) not in (None, _DISABLED)


def _init_subclass(cls: type[Tensor], /, **kwargs: Any) -> None:
    super(Tensor, cls).__init_subclass__(**kwargs)
    if _is_asked(cls):
        install()
        _taken.note_class(cls)
        # It says of which class results are, which the usual rule of functions would change.
        if _rule(cls) is _rule(Tensor):
            cls.__torch_function__ = _C._disabled_torch_function_impl  # type: ignore[attr-defined]


def _rule(cls: Any) -> Any:
    """The function that is a class's `__torch_function__`; of Tensor, what subclasses inherit."""
    return getattr(cls.__torch_function__, "__func__", cls.__torch_function__)


def _make_wrapper_subclass(
    cls: type[Tensor],
    size: Any,
    strides: Any = None,
    storage_offset: int = 0,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    **described: Any,
) -> Tensor:
    """An instance of a subclass that has a shape and a dtype, and no elements: what operators make
    of it is for its `__torch_dispatch__` to say.

    Args:
        cls: defines `__torch_dispatch__`.
        size: the shape.
        strides: in elements; None: those of a row-major tensor.
        storage_offset: 0 is the only value.
        dtype: None: the default dtype.
        requires_grad: whether autograd records what is computed of it.
        described: layout, device, pin_memory and others, which PyTorch takes: its device is meta.

    Raises:
        ValueError: there is a storage_offset, or numbers that do not fit in memory.
    """
    if storage_offset != 0:
        raise ValueError(
            f"_make_wrapper_subclass(): storage_offset must be 0, got {brief(storage_offset)}"
        )
    size = list(_C.Size(size))
    if strides is None:
        strides, step = [], 1
        for n in reversed(size):
            strides.insert(0, step)
            step *= max(n, 1)
    else:
        strides = list(_C.Size(strides))
    made: Tensor = _overrides.shell(cls, size, strides, dtype or _C.get_default_dtype())
    return made.requires_grad_() if requires_grad else made


_DISABLED = _C._disabled_torch_dispatch_impl
Tensor.__torch_dispatch__ = _DISABLED  # type: ignore[attr-defined]
Tensor.__init_subclass__ = classmethod(_init_subclass)  # type: ignore[assignment]
Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)  # type: ignore[attr-defined]
