"""PyTorch's public names, and what Flambeau has under them."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

import flambeau

DEPTH = 3  # of public modules below the package


class NoSuch(Exception):
    """Flambeau has nothing of that name."""


def ours(path: str) -> Any:
    """What stands in Flambeau under a path like `nn.functional.x`.

    Raises:
        NoSuch: nothing does.
    """
    value: Any = flambeau
    for part in path.split("."):
        if not hasattr(value, part):
            raise NoSuch(f"no {path}")
        value = getattr(value, part)
    return value


def path_of(value: Any, likely: str = "") -> str | None:
    """The public path of an object of PyTorch; `likely` is preferred where it leads there."""
    if likely and _at(likely) is value:
        return likely
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[2]
    path, _ = _paths().get(id(value), (None, None))
    return path


def _at(path: str) -> Any:
    value: Any = torch
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


@cache
def _paths() -> dict[int, tuple[str, Any]]:
    """Paths by identity, the shortest of each: modules first, then what methods there are. What is
    named by its identity is kept.
    """
    found: dict[int, tuple[str, Any]] = {}
    waiting: list[tuple[str, types.ModuleType]] = [("", torch)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are deprecated
        while waiting:
            prefix, module = waiting.pop(0)
            for name, value in _public(module):
                path = f"{prefix}{name}"
                if isinstance(value, types.ModuleType):
                    if value.__name__ == f"torch.{path}" and path.count(".") < DEPTH:
                        waiting.append((f"{path}.", value))
                elif callable(value) and _is_theirs(value):
                    found.setdefault(id(value), (path, value))
    for name in dir(torch.Tensor):
        value = getattr(torch.Tensor, name)
        if value is not getattr(object, name, None):
            found.setdefault(id(value), (f"Tensor.{name}", value))
    return found


def _public(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(module).items(), key=lambda item: item[0]):
        if not name.startswith("_"):
            yield name, value


def _is_theirs(value: Any) -> bool:
    """Not what a module imports from elsewhere."""
    return (getattr(value, "__module__", None) or "torch").startswith("torch")
