"""What stands after each opcode of a pickle: how its argument is read.

The opcodes are those of protocols 0 to 5, as the standard library's `pickletools` lists them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from struct import Struct
from typing import Any

from flambeau.serialization.stream import Stream

Reader = Callable[[Stream], Any]

# Digits of a number that is written as text: reading more takes time that grows with their square.
_MOST_DIGITS = 4000


byte: Reader = Stream.byte


def number(code: str) -> Reader:
    if code == "<B":
        return byte
    layout = Struct(code)
    size, unpack = layout.size, layout.unpack

    def read(stream: Stream) -> Any:
        return unpack(stream.take(size))[0]

    return read


def counted(code: str) -> Reader:
    """Bytes after their count."""
    count = number(code)

    def read(stream: Stream) -> bytes:
        size = count(stream)
        if size < 0:
            raise pickle.UnpicklingError(f"{size} bytes are to follow")
        return stream.take(size)

    return read


def text(code: str) -> Reader:
    content = counted(code)

    def read(stream: Stream) -> str:
        return str(content(stream), "utf-8", "surrogatepass")

    return read


def integer(code: str) -> Reader:
    """A little-endian two's complement of any length."""
    content = counted(code)

    def read(stream: Stream) -> int:
        return int.from_bytes(content(stream), "little", signed=True)

    return read


def line(stream: Stream) -> str:
    return str(stream.line(), "utf-8")


def two_lines(stream: Stream) -> tuple[str, str]:
    return line(stream), line(stream)


def decimal(stream: Stream) -> int | bool:
    """Of protocol 0, which writes True as 01."""
    content = stream.line()
    if content in (b"00", b"01"):
        return content == b"01"
    content = content.removesuffix(b"L")
    if len(content) > _MOST_DIGITS:
        raise pickle.UnpicklingError(f"a number of {len(content)} digits")
    return int(content)


def floating(stream: Stream) -> float:
    return float(stream.line())


def quoted(stream: Stream) -> bytes:
    """A string of Python 2 in quotes."""
    import codecs

    content = stream.line()
    if len(content) < 2 or content[0] != content[-1] or content[0] not in b"'\"":
        raise pickle.UnpicklingError("a string without quotes around it")
    return codecs.escape_decode(content[1:-1])[0]


def escaped(stream: Stream) -> str:
    return str(stream.line(), "raw-unicode-escape")
