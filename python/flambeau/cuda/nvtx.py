"""Ranges of a program that have a name. They are shown in profiles of `flambeau.profiler`.

NVIDIA's own profilers do not see them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau.profiler import record_function

__all__ = ["mark", "range", "range_pop", "range_push"]

_of_thread = threading.local()


def _open_ranges() -> list[Any]:
    found: list[Any] = _of_thread.__dict__.setdefault("ranges", [])
    return found


def range_push(msg: str) -> int:
    """Begins a range inside of those that this thread has begun.

    Args:
        msg: its name.

    Returns:
        How many are around it.

    Example:
        >>> from flambeau.cuda import nvtx
        >>> nvtx.range_push("step"), nvtx.range_push("forward")
        (0, 1)
        >>> nvtx.range_pop(), nvtx.range_pop()
        (1, 0)
    """
    ranges = _open_ranges()
    ranges.append(record_function(msg))
    ranges[-1].__enter__()
    return len(ranges) - 1


def range_pop() -> int:
    """Ends the range that this thread began last.

    Returns:
        How many are around it.

    Raises:
        RuntimeError: there is none.

    Example:
        >>> flambeau.cuda.nvtx.range_push("step")
        0
        >>> flambeau.cuda.nvtx.range_pop()
        0
    """
    ranges = _open_ranges()
    if not ranges:
        raise RuntimeError("cuda.nvtx.range_pop(): this thread has begun no range")
    ranges.pop().__exit__(None, None, None)
    return len(ranges)


def mark(msg: str) -> None:
    """A range that ends at once.

    Args:
        msg: its name.

    Example:
        >>> with flambeau.profiler.profile() as report:
        ...     flambeau.cuda.nvtx.mark("epoch")
        >>> [event.key for event in report.key_averages()]
        ['epoch']
    """
    with record_function(msg):
        pass


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """`with range(name):` is range_push and range_pop; `msg.format(*args, **kwargs)` is the name.

    Example:
        >>> with flambeau.cuda.nvtx.range("step {}", 3):
        ...     _ = flambeau.ones(2) + 1
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
