"""What the declarations say of batches: lib/batching.json, which the generator writes."""

from __future__ import annotations

import json
import types
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import flambeau
from flambeau import _C, Tensor


class Overload(NamedTuple):
    """What one overload of a function computes."""

    name: str  # of the operator
    entry: dict[str, Any]
    writes: bool  # the result is written into the first argument


@cache
def _table() -> dict[str, Any]:
    file = Path(flambeau.__file__).parent / "lib" / "batching.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


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


@cache
def overloads_of(key: str) -> tuple[Overload, ...] | None:
    """What there is behind a function; None where it is no declared one."""
    found = _table()["callables"].get(key)
    if found is None:
        return None
    operators = _table()["operators"]
    return tuple(Overload(name, operators.get(name, {"rule": "loop"}), w) for name, w in found)


class Called(NamedTuple):
    """What Python calls a function of C++."""

    function: Any
    key: str
    overload: Overload
    arguments: list[str]
    by_position: int  # how many of them
    chosen: dict[str, bool]  # arguments that choose it among the overloads

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


@cache
def called_as(name: str) -> Called | None:
    """What Python calls a function of C++; None where it is in no table."""
    found = _table()["functions"].get(name)
    if found is None:
        return None
    path, place, arguments, by_position, chosen = found
    function = _found(path)
    key = key_of(function)
    overloads = overloads_of(key)
    if overloads is None:
        return None
    return Called(function, key, overloads[place], arguments, by_position, chosen)


def is_operator(name: str) -> bool:
    """Whether formulas may call it."""
    return name in _table()["names"]


@cache
def functions_named(name: str) -> tuple[Any, ...]:
    """The functions, or methods, that formulas may mean by a name: overloads of an operator may
    stand in several namespaces.
    """
    return tuple(_found(path) for path in _table()["names"][name])


def _found(path: str) -> Any:
    if path.startswith("Tensor."):
        return getattr(Tensor, path.removeprefix("Tensor."))
    found: Any = _C
    for part in path.split("."):
        found = getattr(found, part)
    return found
