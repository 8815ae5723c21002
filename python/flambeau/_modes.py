"""What contexts share that are asked about calls while they are on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol


class Stack(Protocol):
    """The modes of a kind that are on, on this thread."""

    def push_mode(self, mode: Any, /) -> None: ...
    def pop_mode(self) -> Any: ...


class Mode:
    """A context: from its beginning to its end, the mode is on inside those around it."""

    _modes: ClassVar[Stack]

    def __enter__(self) -> Any:
        self._modes.push_mode(self)
        return self

    def __exit__(self, *details: object) -> None:
        self._modes.pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The mode, made of the arguments: `with Mode.push(...)`."""
        return cls(*args, **kwargs)


def unchanged(
    self: Mode,
    func: Callable[..., Any],
    types: tuple[type, ...],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """The answer of a mode that changes nothing."""
    return func(*args, **(kwargs or {}))
