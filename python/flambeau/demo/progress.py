"""A progress bar for terminals, one plain line per epoch elsewhere."""

from __future__ import annotations

import shutil
import sys
import time

_PARTS = " ▏▎▍▌▋▊▉█"
_WIDTH = 24
_REDRAW_SECONDS = 0.05


class Progress:
    """The progress of one epoch, as a context.

    Args:
        title: stands in front.
        total: number of steps.
    """

    def __init__(self, title: str, total: int) -> None:
        self.title = title
        self.total = total
        self._done = 0
        self._drawn = 0.0
        self._live = sys.stdout.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._live and kind is not None:
            print(flush=True)

    def advance(self, text: str) -> None:
        """One step more."""
        self._done += 1
        now = time.monotonic()
        if self._live and now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            self._draw(text)

    def finish(self, text: str) -> None:
        """The line that stays."""
        if self._live:
            self._done = self.total
            self._draw(text)
            print(flush=True)
        else:
            print(f"{self.title}  {text}", flush=True)

    def _draw(self, text: str) -> None:
        eighths = round(8 * _WIDTH * self._done / self.total)
        full, rest = divmod(eighths, 8)
        bar = ("█" * full + (_PARTS[rest] if rest else "")).ljust(_WIDTH)
        columns = shutil.get_terminal_size().columns
        line = f"{self.title} │{bar}│ {text}"[: columns - 1]
        print(f"\r\x1b[2K{line}", end="", flush=True)
