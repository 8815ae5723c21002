"""What users allow in files besides tensors and plain data."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

Allowed = Any  # a class or function, or (class or function, the name that files give it)

_allowed: list[Allowed] = []


def add_safe_globals(safe_globals: Sequence[Allowed]) -> None:
    """Allows classes and functions in files that `load` reads with `weights_only=True`.

    Such a file may then call them with any arguments, and set the state of what they return.

    Args:
        safe_globals: classes and functions, or pairs of one and the full name that files give it.

    Example:
        >>> class Settings:
        ...     pass
        >>> flambeau.serialization.add_safe_globals([Settings])
        >>> Settings in flambeau.serialization.get_safe_globals()
        True
        >>> flambeau.serialization.clear_safe_globals()
    """
    checked = list(safe_globals)
    for entry in checked:
        named(entry)
    _allowed.extend(checked)


def get_safe_globals() -> list[Allowed]:
    """What `add_safe_globals` has allowed.

    Example:
        >>> flambeau.serialization.get_safe_globals()
        []
    """
    return list(_allowed)


def clear_safe_globals() -> None:
    """Takes back every `add_safe_globals`.

    Example:
        >>> flambeau.serialization.clear_safe_globals()
        >>> flambeau.serialization.get_safe_globals()
        []
    """
    _allowed.clear()


@contextlib.contextmanager
def safe_globals(allowed: Sequence[Allowed]) -> Iterator[None]:
    """Allows classes and functions inside a `with` block.

    Args:
        allowed: classes and functions, or pairs of one and its name.

    Example:
        >>> class Settings:
        ...     pass
        >>> with flambeau.serialization.safe_globals([Settings]):
        ...     Settings in flambeau.serialization.get_safe_globals()
        True
    """
    before = list(_allowed)
    add_safe_globals(allowed)
    try:
        yield
    finally:
        _allowed[:] = before


def named(entry: Allowed) -> tuple[str, Any]:
    """The full name in files, and what it stands for.

    Raises:
        TypeError: `entry` is no class, function or pair of one and a name.
    """
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], str):
        value, name = entry
    else:
        value = entry
        name = f"{getattr(entry, '__module__', '')}.{getattr(entry, '__qualname__', '')}"
    if not callable(value) or name.startswith(".") or name.endswith("."):
        raise TypeError(
            "add_safe_globals: expected classes and functions, or pairs of one and its name, got "
            f"{type(entry).__name__}"
        )
    return name, value


def names() -> dict[str, Any]:
    """All that is allowed now, by full name."""
    return dict(map(named, _allowed))
