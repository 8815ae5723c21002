"""What a build starts ends with it."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def ending(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Ends a process if what is done meanwhile fails, or if this process is told to end (SIGTERM,
    SIGHUP), which it then does. Ninja passes that on to the compilers that it started.
    """
    taken = []
    if threading.current_thread() is threading.main_thread():
        # Whoever has a handler of his own decides what it does.
        numbers = (signal.SIGTERM, signal.SIGHUP)
        taken = [n for n in numbers if signal.getsignal(n) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _leave)
    try:
        yield
    except BaseException:
        process.terminate()
        process.communicate()
        raise
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
