"""Streams and events of the CPU, for programs that have them of every device: work is done in order
and when its call returns, so that there is nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flambeau

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "set_device", "stream"]


class Event:
    """A point in the work of the CPU, which is behind it.

    Args:
        enable_timing: accepted: no time is noted.

    Example:
        >>> event = flambeau.cpu.Event()
        >>> event.record()
        >>> event.query()
        True
    """

    def __init__(self, enable_timing: bool = False) -> None:
        pass

    def query(self) -> bool:
        """True: the work is done."""
        return True

    def record(self, stream: flambeau.cpu.Stream | None = None) -> None:
        """Nothing: there is no later time to mark."""

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: flambeau.cpu.Stream | None = None) -> None:
        """Returns at once."""


class Stream:
    """A queue of work, which is empty.

    Args:
        priority: accepted: nothing waits.

    Example:
        >>> side = flambeau.cpu.Stream()
        >>> with flambeau.cpu.stream(side):
        ...     y = flambeau.ones(2) + 1
        >>> flambeau.cpu.current_stream().wait_stream(side)
        >>> y
        tensor([2., 2.])
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def query(self) -> bool:
        """True: the work is done."""
        return True

    def synchronize(self) -> None:
        """Returns at once."""

    def wait_stream(self, stream: flambeau.cpu.Stream) -> None:
        """Returns at once."""

    def wait_event(self, event: flambeau.cpu.Event) -> None:
        """Returns at once."""

    def record_event(self, event: flambeau.cpu.Event | None = None) -> flambeau.cpu.Event:
        """An event, which is over."""
        return event or Event()


_current = Stream()


def current_stream(device: Any = None) -> flambeau.cpu.Stream:
    """The stream of the innermost `with stream(...)`, or the one that there is anyway.

    Args:
        device: accepted: there is one.

    Example:
        >>> flambeau.cpu.current_stream() is flambeau.cpu.current_stream()
        True
    """
    return _current


@contextmanager
def stream(stream: flambeau.cpu.Stream | None) -> Iterator[None]:
    """A block in which a stream is the current one.

    Args:
        stream: None: the current one stays.

    Example:
        >>> side = flambeau.cpu.Stream()
        >>> with flambeau.cpu.stream(side):
        ...     flambeau.cpu.current_stream() is side
        True
    """
    global _current
    before = _current
    _current = stream or before
    try:
        yield
    finally:
        _current = before


StreamContext = stream


def set_device(device: Any) -> None:
    """Nothing: there is one CPU.

    Args:
        device: accepted.

    Example:
        >>> flambeau.cpu.set_device("cpu")
        >>> flambeau.cpu.current_device()
        'cpu'
    """
