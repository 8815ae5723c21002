"""Waiting for a number in memory that processes share, as the system's kernel offers it."""

from __future__ import annotations

import ctypes
import platform
import sys

_NUMBERS = {"x86_64": 202, "aarch64": 98}
_WAIT, _WAKE = 0, 1
_libc = ctypes.CDLL(None)


class _Span(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def available() -> bool:
    """Whether this system has it.

    Example:
        >>> from flambeau.distributed import futex
        >>> futex.available()
        True
    """
    return sys.platform == "linux" and platform.machine() in _NUMBERS


_number = ctypes.c_long(_NUMBERS.get(platform.machine(), -1))


def wait(address: int, value: int, seconds: float) -> None:
    """Sleeps until somebody wakes the address, a time is over, or for no reason; not at all if its
    32 bits are not `value`.
    """
    span = _Span(int(seconds), int(seconds % 1 * 1e9))
    _libc.syscall(
        _number,
        ctypes.c_void_p(address),
        ctypes.c_int(_WAIT),
        ctypes.c_uint32(value & 0xFFFFFFFF),
        ctypes.byref(span),
        None,
        0,
    )


def wake(address: int) -> None:
    """Wakes all who sleep at an address."""
    _libc.syscall(
        _number,
        ctypes.c_void_p(address),
        ctypes.c_int(_WAKE),
        ctypes.c_int(0x7FFFFFFF),
        None,
        None,
        0,
    )


def give_way() -> None:
    """Lets another thread or process run."""
    _libc.sched_yield()
