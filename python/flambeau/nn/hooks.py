"""Tables of registered hooks, and the handles that take them away."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import ref

_identifiers = itertools.count()


class RemovableHandle:
    """What registering a hook of a `nn.Module` returns: `remove()` takes the hook away; also a
    context manager.

    Args:
        hooks: the dict that holds the hook, and others to take it out of.

    Example:
        >>> layer = flambeau.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: print("called"))
        >>> _ = layer(flambeau.ones(1))
        called
        >>> handle.remove()
        >>> _ = layer(flambeau.ones(1))
    """

    def __init__(self, hooks: OrderedDict[int, Callable[..., Any]]) -> None:
        self.id = next(_identifiers)
        self._hooks = ref(hooks) if isinstance(hooks, HookTable) else (lambda: hooks)

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class HookTable(OrderedDict[int, Callable[..., Any]]):
    """Hooks in the order of their registration. Can be referred to weakly.

    Attributes:
        marks: of some hooks, words that say how they are called.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.marks: dict[int, frozenset[str]] = {}

    def add(self, hook: Callable[..., Any], *marks: str, prepend: bool = False) -> RemovableHandle:
        """Registers a hook."""
        handle = RemovableHandle(self)
        while handle.id in self:  # a table that another process has saved
            handle.id = next(_identifiers)
        self[handle.id] = hook
        self.marks.pop(handle.id, None)
        if marks:
            self.marks[handle.id] = frozenset(marks)
        if prepend:
            self.move_to_end(handle.id, last=False)
        return handle

    def is_marked(self, identifier: int, mark: str) -> bool:
        """Whether a hook was registered with a mark."""
        return mark in self.marks.get(identifier, ())


class _NoHooks(HookTable):
    """The table of modules that have none, which all share."""

    def __setitem__(self, identifier: int, hook: Callable[..., Any]) -> None:
        raise TypeError(
            "a module without hooks has no table of its own: add hooks by the methods "
            "register_forward_hook, register_full_backward_hook and their like"
        )


NO_HOOKS = _NoHooks()


def own_table(owner: Any, name: str) -> HookTable:
    """The table of that name, which is made when its first hook is registered."""
    hooks: HookTable = getattr(owner, name)
    if hooks is NO_HOOKS:
        hooks = HookTable()
        object.__setattr__(owner, name, hooks)
    return hooks
