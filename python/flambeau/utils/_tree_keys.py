"""Where a child is in its container: the steps of a path through nested values."""

from __future__ import annotations

from typing import Any, NamedTuple


class MappingKey(NamedTuple):
    """Where a child is in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, container: Any) -> Any:
        """The child there."""
        return container[self.key]


class SequenceKey(NamedTuple):
    """Where a child is in a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, container: Any) -> Any:
        """The child there."""
        return container[self.idx]


class GetAttrKey(NamedTuple):
    """Where a child is in what has names for its items."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, container: Any) -> Any:
        """The child there."""
        return getattr(container, self.name)


Key = MappingKey | SequenceKey | GetAttrKey
Path = tuple[Key, ...]
