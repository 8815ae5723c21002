"""Memory that the processes of a group share, if all are on one machine.

It has a page for each rank, which says how far it is, and two rooms for its data, which are used in
turns. A rank writes into its room, says so, waits for the others and reads theirs. What is written
in one turn is overwritten in the one after the next: nobody begins that before all have come to the
next, and so have read.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import secrets
import struct
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed import futex

ROOM = 1 << 20
"""Bytes that a rank can show the others at a time: they stay in the processors' caches."""

_PAGE = 4096
_BROKEN, _TURNS, _CALLS, _WORDS = 64, 128, 2176, 1024
_HEAD = struct.Struct("=Q16sH")
_FOLDER = "/dev/shm"


class Board:
    """The memory, as one rank of a group sees it.

    Args:
        memory: of `size_of(size)` bytes, zero in the beginning.
        rank, size: of the group.

    Example:
        >>> from flambeau.distributed.board import Board, size_of
        >>> memory = bytearray(size_of(2))
        >>> zero, one = Board(memory, 0, 2), Board(memory, 1, 2)
        >>> zero.room(0, flambeau.float32, 2).copy_(flambeau.tensor([1.0, 2.0]))
        tensor([1., 2.])
        >>> zero.come(1, 7, b"words")
        >>> one.progress(0), one.said(0, 1)[::2], one.room(0, flambeau.float32, 2)
        (1, (7, b'words'), tensor([1., 2.]))
    """

    def __init__(self, memory: Any, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.turn = self.half = 0
        self._view = memoryview(memory)
        self._bytes = flambeau.frombuffer(memory, dtype=flambeau.uint8)
        self._address = self._bytes.data_ptr()
        self._numbers = self._view[: size * _PAGE].cast("Q")

    def room(self, rank: int, dtype: flambeau.dtype, count: int) -> Tensor:
        """Elements of a rank's room in this turn."""
        begin = self.size * _PAGE + (2 * rank + self.half) * ROOM
        return self._bytes[begin : begin + count * dtype.itemsize].view(dtype)

    def come(self, turn: int, call: int, words: bytes) -> None:
        """Says that this rank has come to a turn, in a call."""
        self._say(_TURNS + turn % 2 * _WORDS, call, words)
        self._numbers[self.rank * _PAGE // 8] = turn
        futex.wake(self._address + self.rank * _PAGE)

    def progress(self, rank: int) -> int:
        """The turn that a rank has come to."""
        return self._numbers[rank * _PAGE // 8]

    def sleep(self, rank: int, turn: int, seconds: float) -> None:
        """Waits for a while, unless the rank is beyond a turn."""
        futex.wait(self._address + rank * _PAGE, turn, seconds)

    def said(self, rank: int, turn: int) -> tuple[int, bytes, bytes]:
        """What a rank has said in a turn: the number of its call, a digest, its words."""
        return self._said(rank, _TURNS + turn % 2 * _WORDS)

    def announce(self, call: int, words: bytes) -> None:
        """Says that this rank makes a call without this memory."""
        self._say(_CALLS, call, words)

    def announced(self, rank: int) -> tuple[int, bytes, bytes]:
        """The last such call of a rank."""
        return self._said(rank, _CALLS)

    def give_up(self, call: int) -> None:
        """Says that this rank uses the memory no longer, from the failure of a call on."""
        place = (self.rank * _PAGE + _BROKEN) // 8
        if not self._numbers[place]:
            self._numbers[place] = call + 1
            futex.wake(self._address + self.rank * _PAGE)

    def given_up(self, rank: int) -> int | None:
        """The call at which a rank has given up; None: it has not."""
        call = self._numbers[(rank * _PAGE + _BROKEN) // 8]
        return call - 1 if call else None

    def _say(self, place: int, call: int, words: bytes) -> None:
        begin = self.rank * _PAGE + place
        shown = words[: _WORDS - _HEAD.size]
        end = begin + _HEAD.size
        self._view[end : end + len(shown)] = shown
        _HEAD.pack_into(self._view, begin, call, digest(words), len(shown))

    def _said(self, rank: int, place: int) -> tuple[int, bytes, bytes]:
        begin = rank * _PAGE + place
        call, mark, count = _HEAD.unpack_from(self._view, begin)
        end = begin + _HEAD.size
        return call, mark, bytes(self._view[end : end + count])


def digest(words: bytes) -> bytes:
    """16 bytes that stand for words."""
    return hashlib.blake2b(words, digest_size=16).digest()


def size_of(size: int) -> int:
    """Bytes for a group of some processes."""
    return size * (_PAGE + 2 * ROOM)


def create(size: int) -> tuple[str, Any] | None:
    """A file of memory for a group, with its name; None where the system has none to give."""
    if not futex.available() or os.environ.get("FLAMBEAU_DISTRIBUTED_SHARED", "1") == "0":
        return None
    name = f"flambeau-{secrets.token_hex(16)}"
    path = f"{_FOLDER}/{name}"
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        # Reserved now: what the system has not got must not be found out by writing to it.
        os.posix_fallocate(file, 0, size_of(size))
        return name, mmap.mmap(file, size_of(size))
    except OSError:
        remove(name)
        return None
    finally:
        os.close(file)


def open_file(name: str, size: int) -> Any:
    """The memory that another process has created; None: it is not on this machine."""
    if os.path.basename(name) != name or not futex.available():
        return None
    try:
        file = os.open(f"{_FOLDER}/{name}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(file).st_size != size_of(size):
            return None
        return mmap.mmap(file, size_of(size))
    finally:
        os.close(file)


def remove(name: str) -> None:
    """Takes a file's name away: its memory lasts as long as processes use it."""
    with contextlib.suppress(OSError):
        os.unlink(f"{_FOLDER}/{name}")
