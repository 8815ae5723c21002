"""Nested states as flat ones: {"model": {"weight": x}} as {"model.weight": x}, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flambeau import Tensor

Path = tuple[Any, ...]


def flattened(state: Mapping[Any, Any]) -> dict[str, tuple[Path, Any]]:
    """Keys and value of each name. Lists are taken apart where they hold tensors or dicts.

    Raises:
        ValueError: two values have one name.
    """
    found: dict[str, tuple[Path, Any]] = {}
    for path, value in _leaves((), state):
        name = ".".join(map(str, path))
        if name in found:
            raise ValueError(f"two values of the state are called {name!r}")
        found[name] = (path, value)
    return found


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and (value or not path):
        for key, item in value.items():
            yield from _leaves((*path, key), item)
    elif isinstance(value, list) and any(isinstance(v, Tensor | Mapping | list) for v in value):
        for number, item in enumerate(value):
            yield from _leaves((*path, number), item)
    else:
        yield path, value


def put(state: Any, path: Path, value: Any) -> None:
    """Sets what a path leads to, in the containers that are there."""
    for key in path[:-1]:
        state = state[key]
    state[path[-1]] = value


def nested(entries: Mapping[str, tuple[Path, Any]]) -> dict[Any, Any]:
    """The state that was flattened."""
    root: dict[Any, Any] = {}
    lists = {path[:i] for path, _ in entries.values() for i, k in enumerate(path) if type(k) is int}
    for path, value in entries.values():
        here: Any = root
        for key in path[:-1]:
            here = here.setdefault(key, {})
        here[path[-1]] = value
    return _with_lists(root, (), lists)


def _with_lists(value: Any, path: Path, lists: set[Path]) -> Any:
    if not isinstance(value, dict):
        return value
    items = {key: _with_lists(item, (*path, key), lists) for key, item in value.items()}
    is_list = path in lists and sorted(items, key=str) == sorted(range(len(items)), key=str)
    return [items[i] for i in range(len(items))] if is_list else items
