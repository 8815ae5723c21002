"""A switch of attention's fast path."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """What was set. There is one path.

    Example:
        >>> flambeau.backends.mha.get_fastpath_enabled()
        True
    """
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Notes the switch. There is one path.

    Args:
        value: what is noted.

    Example:
        >>> flambeau.backends.mha.set_fastpath_enabled(False)
        >>> flambeau.backends.mha.get_fastpath_enabled()
        False
        >>> flambeau.backends.mha.set_fastpath_enabled(True)
    """
    global _enabled
    _enabled = bool(value)
