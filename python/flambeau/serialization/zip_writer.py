"""Writing zip archives whose entries are stored, and begin at multiples of 64 bytes.

The format is that of PKWARE's APPNOTE.TXT. As the checksum of an entry is known when it is written,
it stands behind the entry, and in the directory. Archives and entries of more than 4 GB have their
sizes in 64 bits.
"""

from __future__ import annotations

from struct import pack
from typing import IO, Any, Protocol

from flambeau import _C

ALIGNMENT = 64
_SEEN_LATER = 1 << 3  # flag: sizes and checksum stand behind the entry
_UTF8 = 1 << 11
_LIMIT = 0xFFFFFFFF
_CHUNK = 1 << 20
_METHOD_AND_TIME = (0, 0, 0x21)  # stored; at midnight, the 1st of January 1980
# Other writers name the field that fills up to the alignment by these letters.
_PADDING = b"FB"


class Sink(Protocol):
    """Where an archive goes."""

    def write(self, data: Any) -> int:
        """Writes bytes; returns their CRC-32."""


class FileSink:
    """A file of the operating system, by descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._offset = 0

    def write(self, data: Any) -> int:
        crc = _C._write_file(self._descriptor, self._offset, data)
        self._offset += memoryview(data).nbytes
        return crc


class ObjectSink:
    """An object with `write`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: Any) -> int:
        view = memoryview(data)
        crc = 0
        for start in range(0, view.nbytes, _CHUNK):
            chunk = view[start : start + _CHUNK]
            crc = _C._crc32(chunk, crc)
            while chunk:
                written = self._file.write(chunk)
                # Raw files write a part; others say how much they took, or nothing.
                chunk = chunk[written if isinstance(written, int) else len(chunk) :]
        return crc


class ZipWriter:
    """An archive that is written from its first byte to its last."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._offset = 0
        self._directory: list[bytes] = []

    def add(self, name: str, data: Any) -> int:
        """Writes an entry; returns its CRC-32."""
        size = memoryview(data).nbytes
        header = self._offset
        raw_name = name.encode()
        flags = _SEEN_LATER | (0 if raw_name.isascii() else _UTF8)
        long = size >= _LIMIT
        extra = pack("<2H2Q", 1, 16, 0, 0) if long else b""
        begin = header + 30 + len(raw_name) + len(extra) + 4
        extra += _PADDING + pack("<H", -begin % ALIGNMENT) + bytes(-begin % ALIGNMENT)
        sizes = pack("<3I", 0, _LIMIT if long else 0, _LIMIT if long else 0)
        self._write(
            b"PK\3\4"
            + pack("<H", 45 if long else 20)
            + pack("<4H", flags, *_METHOD_AND_TIME)
            + sizes
            + pack("<2H", len(raw_name), len(extra))
            + raw_name
            + extra
        )
        crc = self._write(data)
        self._write(b"PK\7\b" + pack("<I2Q" if long else "<3I", crc, size, size))
        self._note(raw_name, flags, crc, size, header)
        return crc

    def _note(self, name: bytes, flags: int, crc: int, size: int, header: int) -> None:
        """The entry of the directory."""
        longs = [value for value in (size, size, header) if value >= _LIMIT]
        extra = pack(f"<2H{len(longs)}Q", 1, 8 * len(longs), *longs) if longs else b""
        self._directory.append(
            b"PK\1\2"
            + pack("<6H", 45, 45 if longs else 20, flags, *_METHOD_AND_TIME)
            + pack("<3I", crc, min(size, _LIMIT), min(size, _LIMIT))
            + pack("<5H2I", len(name), len(extra), 0, 0, 0, 0, min(header, _LIMIT))
            + name
            + extra
        )

    def finish(self) -> None:
        """Writes the directory."""
        begin, count = self._offset, len(self._directory)
        directory = b"".join(self._directory)
        end = begin + len(directory)
        tail = b""
        if end >= _LIMIT or count >= 0xFFFF:
            tail = b"PK\6\6" + pack(
                "<Q2H2I4Q", 44, 45, 45, 0, 0, count, count, len(directory), begin
            )
            tail += b"PK\6\7" + pack("<IQI", 0, end, 1)
        tail += b"PK\5\6" + pack(
            "<4H2IH",
            *(0, 0, min(count, 0xFFFF), min(count, 0xFFFF)),
            *(min(len(directory), _LIMIT), min(begin, _LIMIT), 0),
        )
        self._write(directory + tail)

    def _write(self, data: Any) -> int:
        crc = self._sink.write(data)
        self._offset += memoryview(data).nbytes
        return crc
