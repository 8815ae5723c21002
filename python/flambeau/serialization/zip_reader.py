"""Reading zip archives: what an archive says of its entries is checked before it is believed.

The format is that of PKWARE's APPNOTE.TXT: a directory at the end names the entries and where each
begins. Entries may be stored or deflated.
"""

from __future__ import annotations

import bisect
import zlib
from dataclasses import dataclass
from struct import Struct

import flambeau
from flambeau import _C, UntypedStorage
from flambeau.serialization.problems import UnreadableFileError
from flambeau.serialization.source import Source

SIGNATURE = b"PK\x03\x04"
_LOCAL = Struct("<4s5H3I2H")
_DIRECTORY = Struct("<4s6H3I5H2I")
_END = Struct("<4s4H2IH")
_LOCATOR = Struct("<4sIQI")
_LONG_END = Struct("<4sQ2H2I4Q")
_MOST_COMMENT = 65535
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1
_ALIGNMENT = 64
# Deflated entries grow when they are read: by no more than so many times the file, and a bit.
_MOST_GROWTH, _SMALL = 32, 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """What the directory says of an entry."""

    name: str
    raw_name: bytes
    method: int
    crc: int
    packed: int  # bytes in the archive
    size: int
    header: int  # where its header begins


class ZipReader:
    """The entries of an archive.

    Args:
        source: the file.
        mapping: whether storages are memory that is read when touched, where the archive allows.
    """

    def __init__(self, source: Source, mapping: bool = False) -> None:
        self._source = source
        self._mapping = mapping
        self.entries: dict[str, Entry] = {}
        self._directory = 0  # where it begins
        self._read_directory()
        self._headers = sorted(entry.header for entry in self.entries.values())
        self._check()

    def place(self, name: str) -> str:
        """For messages: an entry of this file."""
        return f"{self._source.name}, entry '{name}'"

    def read(self, name: str) -> bytes:
        """The content of an entry, checked."""
        entry = self._entry(name)
        data = self._source.read(self._begin(entry), entry.packed)
        if entry.method == _DEFLATED:
            data = self._inflated(entry, data)
        self._check_crc(entry, _C._crc32(data))
        return data

    def size(self, name: str) -> int:
        return self._entry(name).size

    def storage(self, name: str) -> UntypedStorage:
        """The content of an entry as a storage: checked, or mapped."""
        entry = self._entry(name)
        begin = self._begin(entry)
        if entry.method == _STORED:
            mapped = None
            if self._mapping:
                mapped = self._source.mapped(begin, entry.size, _ALIGNMENT)
            if mapped is not None:
                return mapped
            storage, crc = self._source.storage(begin, entry.size)
            self._check_crc(entry, crc)
            return storage
        storage = flambeau.empty(entry.size, dtype=flambeau.uint8).untyped_storage()
        memoryview(storage)[:] = self.read(name)  # type: ignore[arg-type]
        return storage

    # Entries --------------------------------------------------------------------------------------

    def _wrong(self, name: str, reason: str) -> UnreadableFileError:
        return UnreadableFileError(self.place(name), reason)

    def _entry(self, name: str) -> Entry:
        if name not in self.entries:
            raise self._wrong(name, "the archive has no such entry")
        return self.entries[name]

    def _begin(self, entry: Entry) -> int:
        """Where the content begins; it ends before the next entry."""
        header = self._source.read(entry.header, _LOCAL.size + len(entry.raw_name))
        signature, *_, name_length, extra_length = _LOCAL.unpack_from(header)
        begin = entry.header + _LOCAL.size + name_length + extra_length
        after = bisect.bisect_right(self._headers, entry.header)
        limit = self._headers[after] if after < len(self._headers) else self._directory
        if signature != SIGNATURE or begin + entry.packed > limit:
            raise self._wrong(entry.name, f"there is no entry of its size at byte {entry.header}")
        if name_length != len(entry.raw_name) or header[_LOCAL.size :] != entry.raw_name:
            raise self._wrong(entry.name, f"another entry is at byte {entry.header}")
        return begin

    def _inflated(self, entry: Entry, data: bytes) -> bytes:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = inflater.decompress(data, entry.size + 1)
        except zlib.error as error:
            raise self._wrong(entry.name, f"it cannot be decompressed: {error}") from error
        if len(content) != entry.size or not inflater.eof:
            raise self._wrong(entry.name, f"it has other than the {entry.size} bytes declared")
        return content

    def _check_crc(self, entry: Entry, crc: int) -> None:
        if crc != entry.crc:
            raise self._wrong(
                entry.name,
                f"it is damaged: its CRC-32 is {crc:#010x}, and was {entry.crc:#010x}",
            )

    # The directory --------------------------------------------------------------------------------

    def _bad(self, reason: str) -> UnreadableFileError:
        return UnreadableFileError(self._source.name, f"the zip archive is damaged: {reason}")

    def _read_directory(self) -> None:
        count, size, begin, limit = self._find_directory()
        if begin + size > limit or count * _DIRECTORY.size > size:
            raise self._bad(f"a directory of {count} entries has no place at byte {begin}")
        self._directory = begin
        data = self._source.read(begin, size)
        at = 0
        for _ in range(count):
            entry, at = self._read_entry(data, at)
            if entry.name in self.entries:
                raise self._bad(f"there are two entries '{entry.name}'")
            self.entries[entry.name] = entry

    def _find_directory(self) -> tuple[int, int, int, int]:
        """Number of entries, size, begin of the directory, and where it must end at the latest."""
        tail = min(self._source.size, _END.size + _MOST_COMMENT)
        data = self._source.read(self._source.size - tail, tail)
        at = data.rfind(b"PK\x05\x06", 0, len(data) - _END.size + 4)
        if at < 0:
            raise self._bad("its end is missing")
        _, disk, _, _, count, size, begin, comment = _END.unpack_from(data, at)
        end = self._source.size - tail + at
        if disk not in (0, 0xFFFF) or at + _END.size + comment != len(data):
            raise self._bad("its end is not where it should be")
        if count != 0xFFFF and size != 0xFFFFFFFF and begin != 0xFFFFFFFF:
            return count, size, begin, end
        locator = self._source.read(end - _LOCATOR.size, _LOCATOR.size)
        signature, _, end, _ = _LOCATOR.unpack(locator)
        if signature != b"PK\x06\x07":
            raise self._bad("its second end is missing")
        signature, *_, count, size, begin = _LONG_END.unpack(self._source.read(end, _LONG_END.size))
        if signature != b"PK\x06\x06":
            raise self._bad("its second end is missing")
        return count, size, begin, end

    def _read_entry(self, data: bytes, at: int) -> tuple[Entry, int]:
        if len(data) - at < _DIRECTORY.size:
            raise self._bad("its directory is too short")
        fields = _DIRECTORY.unpack_from(data, at)
        signature, _, _, flags, method, _, _, crc, packed, size = fields[:10]
        name_length, extra_length, comment_length, disk, _, _, header = fields[10:]
        at += _DIRECTORY.size
        end = at + name_length + extra_length + comment_length
        if signature != b"PK\x01\x02" or end > len(data):
            raise self._bad("its directory is")
        raw_name = data[at : at + name_length]
        name = str(raw_name, "utf-8" if flags & 0x800 else "cp437", "replace")
        extra = data[at + name_length : at + name_length + extra_length]
        if 0xFFFFFFFF in (packed, size, header):
            size, packed, header = self._long_sizes(extra, size, packed, header)
        if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED) or disk not in (0, 0xFFFF):
            raise self._wrong(name, "it is encrypted, or compressed by an unusual method")
        return Entry(name, raw_name, method, crc, packed, size, header), end

    def _long_sizes(self, extra: bytes, *fields: int) -> list[int]:
        """Fields that stand in 64 bits in the extra field 1, in this order."""
        at = 0
        while at + 4 <= len(extra):
            kind, length = (
                int.from_bytes(extra[at : at + 2], "little"),
                extra[at + 2] | extra[at + 3] << 8,
            )
            content = extra[at + 4 : at + 4 + length]
            at += 4 + length
            if kind != 1:
                continue
            values = []
            for field in fields:
                if field == 0xFFFFFFFF:
                    if len(content) < 8:
                        raise self._bad("an entry has no size")
                    field, content = int.from_bytes(content[:8], "little"), content[8:]
                values.append(field)
            return values
        return list(fields)

    def _check(self) -> None:
        """Sizes fit into the file, and no byte of it belongs to two entries."""
        grown = 0
        previous_end, previous = 0, ""
        for entry in sorted(self.entries.values(), key=lambda entry: entry.header):
            if entry.header < previous_end:
                raise self._wrong(entry.name, f"it lies in the entry '{previous}'")
            previous_end = entry.header + _LOCAL.size + len(entry.raw_name) + entry.packed
            previous = entry.name
            if previous_end > self._directory:
                raise self._wrong(entry.name, "it ends after the archive")
            if entry.method == _STORED and entry.packed != entry.size:
                raise self._wrong(entry.name, "it is stored, and has two sizes")
            if entry.method == _DEFLATED:
                grown += entry.size
        most = _MOST_GROWTH * self._source.size + _SMALL
        if grown > most:
            raise UnreadableFileError(
                self._source.name,
                f"its compressed entries would be {grown} bytes, more than {_MOST_GROWTH} times "
                "the file; an archive without compression is read whatever its size",
            )
