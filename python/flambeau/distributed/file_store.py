"""A store in a file that all processes can open."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flambeau.distributed.errors import DistStoreError, QueueEmptyError
from flambeau.distributed.store import Store
from flambeau.distributed.table import Ask, Table, late

_HEAD = struct.Struct("!BI")
_CHANGES = {Ask.SET, Ask.ADD, Ask.COMPARE_SET, Ask.DELETE, Ask.APPEND, Ask.PUSH, Ask.POP}
_CHANGES |= {Ask.MULTI_SET}


class FileStore(Store):
    """A store whose file lists what was asked for; who opens it does the same again.

    Args:
        file_name: of a new file, or one of this run: what a former run left in it still counts.
        world_size: how many processes use it, for the reader of the program.

    Raises:
        OSError: it cannot be opened.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = flambeau.distributed.FileStore(f"{folder}/store", world_size=2)
        ...     store.set("address", "10.0.0.1")
        ...     flambeau.distributed.FileStore(f"{folder}/store", world_size=2).get("address")
        b'10.0.0.1'
    """

    def __init__(self, file_name: str | os.PathLike[str], world_size: int = -1) -> None:
        super().__init__()
        self._path = Path(file_name)
        self.world_size = world_size
        self._table = Table()
        self._read = 0
        with open(self._path, "ab"):
            pass

    @property
    def path(self) -> str:
        """The name of the file."""
        return str(self._path)

    def _answer(self, ask: Ask, fields: Sequence[bytes], timeout: float) -> list[bytes]:
        end = time.monotonic() + timeout
        while True:
            try:
                return self._try(ask, fields)
            except QueueEmptyError:
                if fields[1] != b"1":
                    raise
            except DistStoreError:
                pass
            if time.monotonic() >= end:
                missing = [key for key in fields if key not in self._table.values]
                raise late(fields[:1] if ask == Ask.POP else missing, timeout)
            time.sleep(0.005)

    def _try(self, ask: Ask, fields: Sequence[bytes]) -> list[bytes]:
        """The answer if there is one at once."""
        with self._open() as file, self._table.changed:
            self._catch_up(file)
            now = [fields[0], b"0"] if ask == Ask.POP else fields
            answer = self._table.answer(ask, now, 0.0)
            if ask in _CHANGES:
                record = _packed(ask, now)
                file.seek(0, os.SEEK_END)
                file.write(record)
                file.flush()
                self._read += len(record)
            return answer

    @contextmanager
    def _open(self) -> Iterator[io.BufferedRandom]:
        """The file, which nobody else has meanwhile."""
        with open(self._path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _catch_up(self, file: io.BufferedRandom) -> None:
        """Does what others have done since."""
        file.seek(self._read)
        data = file.read()
        place = 0
        while place < len(data):
            ask, fields, place = _unpacked(data, place)
            self._table.answer(ask, fields, 0.0)
        self._read += place

    def clone(self) -> Store:
        """A store on the same file."""
        return FileStore(self._path, self.world_size)


def _packed(ask: Ask, fields: Sequence[bytes]) -> bytes:
    lengths = struct.pack(f"!{len(fields)}I", *map(len, fields))
    return _HEAD.pack(ask, len(fields)) + lengths + b"".join(fields)


def _unpacked(data: bytes, place: int) -> tuple[Ask, list[bytes], int]:
    try:
        ask, count = _HEAD.unpack_from(data, place)
        lengths = struct.unpack_from(f"!{count}I", data, place + _HEAD.size)
        place += _HEAD.size + 4 * count
        fields = []
        for length in lengths:
            fields.append(data[place : place + length])
            place += length
        if place > len(data):
            raise ValueError("the file ends too early")
        return Ask(ask), fields, place
    except (struct.error, ValueError) as error:
        raise RuntimeError(f"FileStore: the file is none of a store ({error})") from None
