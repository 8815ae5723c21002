"""TORCH_DISTRIBUTED_DEBUG: how much is checked."""

from __future__ import annotations

import enum
import os


class DebugLevel(enum.Enum):
    """How much is checked; here everything always is, whatever the level.

    Example:
        >>> [level.name for level in flambeau.distributed.DebugLevel]
        ['OFF', 'INFO', 'DETAIL']
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def set_debug_level(level: DebugLevel) -> None:
    """Sets what `get_debug_level` says.

    Args:
        level: a `DebugLevel`.

    Example:
        >>> before = flambeau.distributed.get_debug_level()
        >>> flambeau.distributed.set_debug_level(flambeau.distributed.DebugLevel.INFO)
        >>> flambeau.distributed.get_debug_level()
        <DebugLevel.INFO: 1>
        >>> flambeau.distributed.set_debug_level(before)
    """
    global _level
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level: expected a DebugLevel, got {type(level).__name__}")
    _level = level


def get_debug_level() -> DebugLevel:
    """The level that was set, or TORCH_DISTRIBUTED_DEBUG said.

    Example:
        >>> before = flambeau.distributed.get_debug_level()
        >>> flambeau.distributed.set_debug_level(flambeau.distributed.DebugLevel.INFO)
        >>> flambeau.distributed.get_debug_level()
        <DebugLevel.INFO: 1>
        >>> flambeau.distributed.set_debug_level(before)
    """
    return _level


def set_debug_level_from_env() -> None:
    """Takes the level from TORCH_DISTRIBUTED_DEBUG: OFF, INFO or DETAIL.

    Raises:
        RuntimeError: for another word.

    Example:
        >>> import os
        >>> from unittest import mock
        >>> with mock.patch.dict(os.environ, TORCH_DISTRIBUTED_DEBUG="detail"):
        ...     flambeau.distributed.set_debug_level_from_env()
        >>> flambeau.distributed.get_debug_level()
        <DebugLevel.DETAIL: 2>
        >>> flambeau.distributed.set_debug_level_from_env()
    """
    word = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if word not in DebugLevel.__members__:
        raise RuntimeError(f"TORCH_DISTRIBUTED_DEBUG must be OFF, INFO or DETAIL, got {word!r}")
    set_debug_level(DebugLevel[word])


set_debug_level_from_env()
