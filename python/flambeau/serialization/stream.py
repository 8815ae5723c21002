"""Reading bytes one after another, never past an end that is known."""

from __future__ import annotations

import pickle
from collections.abc import Callable

_WINDOW = 1 << 16


class Stream:
    """The bytes from `start` to `end` of what `read(offset, count)` gives."""

    def __init__(self, read: Callable[[int, int], bytes], start: int, end: int) -> None:
        self._read = read
        self._window = b""
        self._next = 0  # in the window
        self._begin = start  # of the window
        self._end = end

    @classmethod
    def over(cls, content: bytes) -> Stream:
        """All of some bytes."""
        return cls(lambda start, count: content[start : start + count], 0, len(content))

    @property
    def position(self) -> int:
        return self._begin + self._next

    @property
    def left(self) -> int:
        """Bytes until the end."""
        return self._end - self.position

    def byte(self) -> int:
        if self._next == len(self._window):
            self._fill(1)
        self._next += 1
        return self._window[self._next - 1]

    def take(self, count: int) -> bytes:
        stop = self._next + count
        if stop > len(self._window):
            self._fill(count)
            stop = count
        taken = self._window[self._next : stop]
        self._next = stop
        return taken

    def skip(self, count: int) -> None:
        if count > self.left:
            raise pickle.UnpicklingError(f"{count} bytes are to follow, and there are {self.left}")
        self._begin, self._next, self._window = self.position + count, 0, b""

    def line(self) -> bytes:
        """What stands before the next line feed, which is passed."""
        searched = 0
        while (found := self._window.find(b"\n", self._next + searched)) < 0:
            searched = len(self._window) - self._next
            self._fill(searched + 1)
        return self.take(found + 1 - self._next)[:-1]

    def _fill(self, count: int) -> None:
        """Moves the window here, and makes it hold at least `count` bytes."""
        left = self.left
        if count > left:
            raise pickle.UnpicklingError(f"{count} bytes are to follow, and there are {left}")
        self._begin, self._next = self.position, 0
        size = min(left, max(_WINDOW, 2 * count))
        self._window = self._read(self._begin, size)
