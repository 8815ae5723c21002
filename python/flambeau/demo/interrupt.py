"""Ctrl-C that cannot get lost."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noticed_interrupts() -> Iterator[Callable[[], None]]:
    """Inside, Ctrl-C raises KeyboardInterrupt at once, as ever.

    Python drops an exception that is raised while an object is being destroyed or a callback runs;
    the function that is given here raises it again, to be called now and then.
    """
    noticed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal noticed
        noticed = True
        raise KeyboardInterrupt

    def check() -> None:
        if noticed:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, previous)
