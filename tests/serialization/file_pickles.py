"""An independent writer: pickles by opcode, zip and tar archives, from the description of each."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from dataclasses import dataclass
from typing import Any

MAGIC = 0x1950A86A20F9469CFC6C


@dataclass(frozen=True)
class Global:
    """A name: module and what is in it."""

    module: str
    name: str


@dataclass(frozen=True)
class Persistent:
    """A reference to something outside the pickle."""

    id: Any


@dataclass(frozen=True)
class Call:
    """What a function makes; then the state that it is given, unless that is None."""

    function: Any
    arguments: tuple[Any, ...]
    state: Any = None


@dataclass(frozen=True)
class Raw:
    """Opcodes as they are."""

    code: bytes


def pickled(value: Any) -> bytes:
    """A pickle of protocol 2."""
    return b"\x80\x02" + code(value) + b"."


def code(value: Any) -> bytes:
    """The opcodes that push a value."""
    match value:
        case Raw():
            return value.code
        case None:
            return b"N"
        case bool():
            return b"\x88" if value else b"\x89"
        case int():
            size = value.bit_length() // 8 + 1
            return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)
        case float():
            return b"G" + struct.pack(">d", value)
        case str():
            data = value.encode()
            return b"X" + struct.pack("<I", len(data)) + data
        case bytes():
            return b"B" + struct.pack("<I", len(value)) + value
        case tuple():
            return b"(" + b"".join(map(code, value)) + b"t"
        case list():
            return b"](" + b"".join(map(code, value)) + b"e"
        case dict():
            pairs = (code(key) + code(item) for key, item in value.items())
            return b"}(" + b"".join(pairs) + b"u"
        case Global():
            return f"c{value.module}\n{value.name}\n".encode()
        case Persistent():
            return code(value.id) + b"Q"
        case Call():
            made = code(value.function) + code(value.arguments) + b"R"
            return made if value.state is None else made + code(value.state) + b"b"
    raise TypeError(f"nothing is known of {value!r}")


FLOATS = Global("torch", "FloatStorage")
REBUILD = Global("torch._utils", "_rebuild_tensor_v2")
HOOKS = Call(Global("collections", "OrderedDict"), ())


def storage(key: str, count: int, kind: Global = FLOATS, location: str = "cpu") -> Persistent:
    return Persistent(("storage", kind, key, location, count))


def tensor(
    of: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: Any = 0, *more: Any
) -> Call:
    return Call(REBUILD, (of, offset, size, stride, False, HOOKS, *more))


def zipped(
    entries: dict[str, bytes], method: int = zipfile.ZIP_STORED, prefix: str = "archive/"
) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(prefix + name, data)
    return content.getvalue()


def file_of(value: Any, **storages: bytes) -> bytes:
    """A file in the zip format; storages are named by `data_KEY`."""
    entries = {"data.pkl": pickled(value), "byteorder": b"little", "version": b"3\n"}
    entries |= {key.replace("_", "/", 1): data for key, data in storages.items()}
    return zipped(entries)


def legacy_file(value: Any, storages: dict[str, tuple[int, bytes]]) -> bytes:
    """A file in the format before: storages are (number of elements, bytes)."""
    machine = {"protocol_version": 1001, "little_endian": True}
    head = b"".join(map(pickled, (MAGIC, 1001, machine, value, list(storages))))
    return head + b"".join(struct.pack("<q", count) + data for count, data in storages.values())


def tar_file(parts: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        for name, data in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def tar_storage(record: tuple[Any, ...], count: int, data: bytes) -> bytes:
    return pickled(record) + struct.pack("<q", count) + data


def tar_tensor(
    record: tuple[Any, ...], size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> bytes:
    numbers = struct.pack(f"<{2 * len(size) + 1}q", *size, *stride, offset)
    # The number of dims took 8 bytes, of which 4 were never set.
    return pickled(record) + struct.pack("<i", len(size)) + b"\xaa\xbb\xcc\xdd" + numbers
