"""The IDX format of the MNIST files: a header with type and sizes, and big-endian numbers.

A file is two zero bytes, a byte for the type, one for the number of dimensions, a 32-bit size per
dimension, and the elements; it may be compressed with gzip. It is described at
http://yann.lecun.com/exdb/mnist/.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from pathlib import Path
from typing import Protocol

import numpy as np

import flambeau
from flambeau import Tensor

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MAGIC_OF_GZIP = b"\x1f\x8b"
_HIGHEST_RATIO = 1032  # deflate makes nothing smaller than that
_CHUNK = 1 << 20
_MOST_DIMS = 64


def read_idx(path: str | os.PathLike[str]) -> Tensor:
    """Reads an IDX file, compressed or not.

    Args:
        path: of the file.

    Raises:
        RuntimeError: if the file is broken; what it declares is checked before memory is taken.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:  # bytes, of two dims: 2, 3
        ...     _ = file.write(bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, *range(6)]))
        ...     file.flush()
        ...     flambeau.datasets.read_idx(file.name)
        tensor([[0, 1, 2],
                [3, 4, 5]], dtype=flambeau.uint8)
    """
    path = Path(path)
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            magic = file.read(2)
            file.seek(0)
            if magic == _MAGIC_OF_GZIP:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    return _read(unpacked, size * _HIGHEST_RATIO)
            return _read(file, size)
    except (_Wrong, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise RuntimeError(f"{path} is no IDX file, or broken: {error}") from error


class _Wrong(Exception):
    pass


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _read(file: _Readable, limit: int) -> Tensor:
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
        raise _Wrong(f"it begins with {start.hex(' ')}")
    sizes_of_bytes = file.read(4 * start[3])
    if len(sizes_of_bytes) != 4 * start[3]:
        raise _Wrong("it ends within its header")
    sizes = struct.unpack(f">{start[3]}I", sizes_of_bytes)
    dtype = np.dtype(_TYPES[start[2]])
    wanted = math.prod(sizes) * dtype.itemsize
    if wanted > limit:
        raise _Wrong(f"its header declares {wanted} bytes, more than the file can hold")
    if len(sizes) > _MOST_DIMS or math.prod(max(size, 1) for size in sizes) >= 1 << 59:
        raise _Wrong(f"its header declares {len(sizes)} sizes, up to {max(sizes)}")
    data = bytearray()
    while len(data) <= wanted and (chunk := file.read(min(_CHUNK, wanted + 1 - len(data)))):
        data += chunk
    if len(data) != wanted:
        what = "more" if len(data) > wanted else f"only {len(data)}"
        raise _Wrong(f"its header declares {wanted} bytes, there are {what}")
    array = np.frombuffer(data, dtype).reshape(sizes)
    return flambeau.from_numpy(array.astype(dtype.newbyteorder("=")))
