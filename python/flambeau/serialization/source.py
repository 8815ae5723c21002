"""Files that are read: bytes and storages from any place in them."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import flambeau
from flambeau import _C, UntypedStorage
from flambeau.serialization.mapping import is_shared
from flambeau.serialization.problems import UnreadableFileError

File = str | os.PathLike[str] | IO[bytes]
_CHUNK = 1 << 20


class Source:
    """A file that can be read from any place.

    Args:
        name: for messages.
        size: its bytes.
    """

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.end = 0  # where the next reader of the file begins

    def read(self, offset: int, count: int) -> bytes:
        """Bytes of the file, as many as asked for."""
        if offset < 0 or count < 0 or count > self.size - offset:
            raise UnreadableFileError(
                self.name,
                f"{count} bytes are to be at byte {offset}, and the file has {self.size}",
            )
        data = self._read(offset, count)
        if len(data) != count:
            raise UnreadableFileError(self.name, f"it ended while it was read, at byte {offset}")
        return data

    def storage(self, offset: int, nbytes: int) -> tuple[UntypedStorage, int]:
        """Bytes of the file in new memory, and their CRC-32."""
        if offset < 0 or nbytes < 0 or nbytes > self.size - offset:
            raise UnreadableFileError(
                self.name,
                f"a storage of {nbytes} bytes is to be at byte {offset}, and the file has "
                f"{self.size}",
            )
        return self._storage(offset, nbytes)

    def mapped(self, offset: int, nbytes: int, alignment: int) -> UntypedStorage | None:
        """The same bytes as memory that is read when touched, at a multiple of `alignment`; None
        where that cannot be.
        """
        return None

    def _read(self, offset: int, count: int) -> bytes:
        raise NotImplementedError

    def _storage(self, offset: int, nbytes: int) -> tuple[UntypedStorage, int]:
        storage = flambeau.empty(nbytes, dtype=flambeau.uint8).untyped_storage()
        memory: Any = memoryview(storage)  # type: ignore[arg-type]
        crc = 0
        for start in range(0, nbytes, _CHUNK):
            chunk = self.read(offset + start, min(_CHUNK, nbytes - start))
            memory[start : start + len(chunk)] = chunk
            crc = _C._crc32(chunk, crc)
        return storage, crc


class SystemFile(Source):
    """A file of the operating system, by descriptor, from byte `start` on."""

    def __init__(self, name: str, descriptor: int, start: int = 0) -> None:
        super().__init__(name, max(os.fstat(descriptor).st_size - start, 0))
        self._descriptor = descriptor
        self._start = start
        self._whole: UntypedStorage | None = None

    def _read(self, offset: int, count: int) -> bytes:
        parts = []
        offset += self._start
        while count > 0:
            part = os.pread(self._descriptor, count, offset)
            if not part:
                break
            parts.append(part)
            offset += len(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _storage(self, offset: int, nbytes: int) -> tuple[UntypedStorage, int]:
        return _C._read_storage(self._descriptor, self._start + offset, nbytes)

    def mapped(self, offset: int, nbytes: int, alignment: int) -> UntypedStorage | None:
        if (self._start + offset) % alignment != 0:
            return None
        if self._whole is None:
            size = self._start + self.size
            self._whole = _C._map_file(self._descriptor, size, is_shared())
        if nbytes > self.size - offset:
            raise UnreadableFileError(self.name, f"it ends before byte {offset + nbytes}")
        return _C._storage_part(self._whole, self._start + offset, nbytes)


class OpenFile(Source):
    """An object with read, seek and tell, from byte `start` on."""

    def __init__(self, name: str, file: IO[bytes], start: int = 0) -> None:
        super().__init__(name, file.seek(0, io.SEEK_END) - start)
        self._file = file
        self._start = start

    def _read(self, offset: int, count: int) -> bytes:
        self._file.seek(self._start + offset)
        data = self._file.read(count)
        if not isinstance(data, bytes):
            raise UnreadableFileError(
                self.name, f"its read() gives {type(data).__name__}; open it in binary mode"
            )
        return data


@contextmanager
def opened(f: File, mapping: bool) -> Iterator[Source]:
    """The file to read.

    Raises:
        ValueError: `mapping` is asked for, and `f` is no path.
    """
    if isinstance(f, str | os.PathLike):
        mode = "r+b" if mapping and is_shared() else "rb"
        with open(f, mode, buffering=0) as file:
            name = f"'{os.fspath(f)}'"
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                yield SystemFile(name, file.fileno())
            else:
                yield OpenFile(name, io.BytesIO(file.read()))
        return
    if mapping:
        raise ValueError("load: mmap=True needs the path of a file")
    own = getattr(f, "name", None)
    name = f"'{own}'" if isinstance(own, str | os.PathLike) else "the file object"
    for method in ("read", "seek", "tell"):
        if not callable(getattr(f, method, None)):
            raise AttributeError(
                "load: f must be a path, or a file with read, seek and tell, got "
                f"{type(f).__name__}"
            )
    try:
        start = f.tell()
        f.seek(start)
    except (OSError, io.UnsupportedOperation) as error:
        raise UnreadableFileError(
            name, "it cannot be read from any place; load(io.BytesIO(f.read())) can"
        ) from error
    source = _of_object(name, f, start)
    yield source
    f.seek(start + source.end)


def _of_object(name: str, f: IO[bytes], start: int) -> Source:
    # Of others, a descriptor need not be of what they read: GzipFile has that of the compressed.
    raw = f.raw if type(f) is io.BufferedReader else f
    if type(raw) is io.FileIO and stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        return SystemFile(name, raw.fileno(), start)
    return OpenFile(name, f, start)
