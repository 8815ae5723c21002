"""TORCH_DISTRIBUTED_DEBUG: how much is checked."""

from __future__ import annotations

import enum
import os


class DebugLevel(enum.Enum):
    """How much is checked; here everything always is, whatever the level."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def set_debug_level(level: DebugLevel) -> None:
    """Sets what `get_debug_level` says."""
    global _level
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level: expected a DebugLevel, got {type(level).__name__}")
    _level = level


def get_debug_level() -> DebugLevel:
    """The level that was set, or TORCH_DISTRIBUTED_DEBUG said."""
    return _level


def set_debug_level_from_env() -> None:
    """Takes the level from TORCH_DISTRIBUTED_DEBUG: OFF, INFO or DETAIL.

    Raises:
        RuntimeError: for another word.
    """
    word = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if word not in DebugLevel.__members__:
        raise RuntimeError(f"TORCH_DISTRIBUTED_DEBUG must be OFF, INFO or DETAIL, got {word!r}")
    set_debug_level(DebugLevel[word])


set_debug_level_from_env()
