"""What the declarations say of batches: lib/batching.json, which the generator writes, and what
extension modules of packages carry.
"""

from __future__ import annotations

import json
import types
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import flambeau
from flambeau import _C, Tensor
from flambeau._C import _overrides

Module = types.ModuleType
Cases = dict[frozenset[str], tuple[str] | tuple[str, str]]


class Overload(NamedTuple):
    """What one overload of a function computes."""

    name: str  # of the operator
    entry: dict[str, Any]
    writes: bool  # the result is written into the first argument
    cases: Cases  # the rule, and its formula, for the arguments that are batches
    module: Module = _C  # that declares it


@cache
def _table(module: Module) -> dict[str, Any]:
    """What the library says, or the module of a package."""
    if module is not _C:
        own: dict[str, Any] = json.loads(module._batching)
        return own
    file = Path(flambeau.__file__).parent / "lib" / "batching.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _package_of(func: Any) -> Module | None:
    """The module of a package that a function belongs to."""
    space = getattr(func, "__module__", None) if _is_compiled_function(func) else None
    if space is None:
        return None
    inside = (m for m in _C._packages if f"{space}.".startswith(f"{m.__name__}."))
    # Several may have been loaded under one name.
    return next((m for m in inside if _holds(m, space, func)), None)


def _is_compiled_function(func: Any) -> bool:
    return isinstance(func, types.BuiltinFunctionType)


def _holds(module: Module, space: str, func: Any) -> bool:
    found: Any = module
    for part in filter(None, space.removeprefix(module.__name__).split(".")):
        found = getattr(found, part, None)
    return getattr(found, func.__name__, None) is func


@cache
def key_of(func: Any) -> str:
    """What a function is called that `__torch_function__` is asked about: "nn.functional.silu",
    "Tensor.add", "Tensor.shape.__get__".
    """
    if isinstance(func, types.MethodDescriptorType | types.WrapperDescriptorType):
        return f"Tensor.{func.__name__}"
    owner = getattr(func, "__self__", None)
    if isinstance(owner, types.GetSetDescriptorType):
        return f"Tensor.{owner.__name__}.{func.__name__}"
    space = func.__module__.removeprefix("flambeau").removeprefix("._C").removeprefix(".")
    is_written = isinstance(func, types.FunctionType | types.MethodType)
    name = str(func.__qualname__ if is_written else func.__name__)
    return f"{space}.{name}" if space else name


def overloads_of(func: Any) -> tuple[Overload, ...] | None:
    """What there is behind a function; None where it is no declared one."""
    key = key_of(func)
    found = _overloads(_C, key)
    if found is not None or not _C._packages:
        return found
    if key.startswith("Tensor."):
        # A method belongs to who added it last.
        each = (_overloads(module, key) for module in reversed(_C._packages))
        return next((f for f in each if f is not None), None)
    module = _package_of(func)
    if module is None:
        return None
    space = func.__module__.removeprefix(module.__name__).removeprefix(".")
    return _overloads(module, f"{space}.{func.__name__}" if space else func.__name__)


@cache
def _overloads(module: Module, key: str) -> tuple[Overload, ...] | None:
    found = _table(module)["callables"].get(key)
    if found is None:
        return None
    operators = _table(module)["operators"]
    entries = ((name, operators.get(name, {"rule": "loop"}), writes) for name, writes in found)
    return tuple(
        Overload(name, entry, writes, _cases(entry), module) for name, entry, writes in entries
    )


def _cases(entry: dict[str, Any]) -> Cases:
    return {frozenset(names): tuple(case) for names, case in entry.get("cases", ())}


def bound(func: Any, args: Any, kwargs: Any) -> tuple[Overload | None, int, dict[str, Any]] | None:
    """The overload that takes some arguments, its place, and these by name; None of what is not
    compiled. There is no overload where a function is no declared one.
    """
    if not isinstance(func, types.BuiltinFunctionType | types.MethodDescriptorType):
        return None
    found = _overrides.bind(func, args, kwargs)
    if found is None:
        return None
    _, place, given = found
    overloads = overloads_of(func)
    return None if overloads is None else overloads[place], place, given


class Called(NamedTuple):
    """What Python calls a function of C++."""

    function: Any
    key: str
    path: str  # where in the module it is
    overload: Overload
    arguments: list[str]
    by_position: int  # how many of them
    chosen: dict[str, bool]  # arguments that choose it among the overloads
    aten: str  # what PyTorch calls the operator
    # Its overloads: name, the argument that tells, and "tensor" or "given" for what that one is.
    # The first that fits a call is meant.
    aten_overloads: list[tuple[str, str, str]]
    aten_with_out: dict[str, list[str]]  # those that write into tensors -> the names of these

    def call(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What it is called with, by position and by name."""
        given = [
            getattr(flambeau, value)
            if name == "memory_format" and isinstance(value, str)
            else value
            for name, value in zip(self.arguments, values, strict=True)
        ]
        named = dict(
            zip(self.arguments[self.by_position :], given[self.by_position :], strict=True)
        )
        return tuple(given[: self.by_position]), {**named, **self.chosen}


def called_as(name: str) -> Called | None:
    """What Python calls a function of C++, "add" or "PACKAGE.softclip"; None where it is in no
    table.

    Raises:
        NotImplementedError: several modules have such a function.
    """
    package, _, function = name.rpartition(".")
    if not package:
        return called_in(_C, function)
    owners = [m for m in _C._packages if m._package == package]
    found = [c for m in owners if (c := called_in(m, function)) is not None]
    if len(found) > 1:
        raise NotImplementedError(
            f"{name} is declared by {len(found)} modules that were loaded under that name: load "
            "them under different ones (name=) to compute gradients of batches"
        )
    return found[0] if found else None


def functions_in(module: Module) -> list[str]:
    """All functions of C++ that a module declares."""
    return list(_table(module)["functions"])


@cache
def called_in(module: Module, name: str) -> Called | None:
    """The same of a module."""
    found = _table(module)["functions"].get(name)
    if found is None:
        return None
    path, place, arguments, by_position, chosen, aten, aten_overloads, with_out = found
    function = _found(module, path)
    overloads = _overloads(module, path)
    if overloads is None:
        return None
    overload = overloads[place]
    key = key_of(function)
    names = (arguments, by_position, chosen, aten, aten_overloads, with_out)
    return Called(function, key, path, overload, *names)


def is_operator(name: str, module: Module = _C) -> bool:
    """Whether formulas, of the library or of a package, may call it."""
    return name in _table(module)["names"] or name in _table(_C)["names"]


@cache
def functions_named(name: str, module: Module = _C) -> tuple[Any, ...]:
    """The functions, or methods, that formulas may mean by a name: overloads of an operator may
    stand in several namespaces, those of packages beside the library's.
    """
    modules = (module,) if module is _C else (module, _C)
    return tuple(_found(m, path) for m in modules for path in _table(m)["names"].get(name, ()))


def _found(module: Module, path: str) -> Any:
    if path.startswith("Tensor."):
        return getattr(Tensor, path.removeprefix("Tensor."))
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return found
