"""Which operators the forward of a class calls."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from flambeau.nn import Module


def operators_of(cls: type, operators: Mapping[int, str]) -> list[str]:
    """The pages of the operators that the forward of a layer calls, each once.

    Args:
        cls: a class.
        operators: pages by the id of the function.
    """
    if not issubclass(cls, Module) or cls is Module:
        return []
    found = [operators[id(f)] for f in _functions(cls) if id(f) in operators]
    return list(dict.fromkeys(found))


def _functions(cls: type[Module]) -> Iterator[Any]:
    """What it calls by name, and the function that a base class is told to call."""
    forward: Any = inspect.getattr_static(cls, "forward")
    yield getattr(cls, "_function", None)
    if forward is inspect.getattr_static(Module, "forward"):
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(forward)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            place = node.func.value
            if isinstance(place, ast.Name) and place.id in forward.__globals__:
                yield getattr(forward.__globals__[place.id], node.func.attr, None)
