"""The safetensors format: a header in JSON, then the bytes of all tensors.

The file begins with the length of the header in 64 bits. The header names for each tensor `dtype`,
`shape` and `data_offsets`, counted from the header's end. Read here rather than by the package of
that name: its zero-copy loading is for the tensors of other libraries, and what it gives as NumPy
arrays are copies, without bfloat16.
"""

from __future__ import annotations

import json
import math
from typing import Any

import flambeau
from flambeau import UntypedStorage
from flambeau._values import brief
from flambeau.serialization.problems import UnreadableFileError, told_of
from flambeau.serialization.request import Request
from flambeau.serialization.source import Source
from flambeau.serialization.tensors import Tensors, refused, whole_numbers

_MOST_HEADER = 100_000_000  # as the format says
_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}


def begins(source: Source) -> bool:
    """Whether the file begins as one of this format."""
    if source.size < 10:
        return False
    head = source.read(0, 9)
    return head[8:] == b"{" and int.from_bytes(head[:8], "little") <= source.size - 8


def load(source: Source, request: Request) -> dict[str, flambeau.Tensor]:
    """The tensors of the file by name, in the order of the header."""
    length = int.from_bytes(source.read(0, 8), "little")
    if length > _MOST_HEADER:
        raise UnreadableFileError(source.name, f"its header has {length} bytes")
    with told_of(f"{source.name}, its header"):
        header = json.loads(str(source.read(8, length), "utf-8"), object_pairs_hook=_once)
        if not isinstance(header, dict):
            raise refused(f"it is no object: {brief(header)}")
        header.pop("__metadata__", None)
    reader = _Reader(source, request, 8 + length)
    parts = []
    for name, told in header.items():
        with told_of(f"{source.name}, tensor {brief(name)}"):
            parts.append((name, *reader.checked(told)))
    reader.check_cover([(begin, end) for *_, begin, end in parts])
    result = {}
    for name, dtype, shape, begin, end in parts:
        with told_of(f"{source.name}, tensor {brief(name)}"):
            result[name] = reader.tensor(dtype, shape, begin, end - begin)
    source.end = source.size
    return result


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise refused("a name stands twice")
    return found


class _Reader:
    """The tensors of a file whose data begins at byte `start`."""

    def __init__(self, source: Source, request: Request, start: int) -> None:
        self._source = source
        self._request = request
        self._start = start

    def checked(self, told: Any) -> tuple[Any, tuple[int, ...], int, int]:
        """dtype, shape, first and last byte of what the header says of a tensor."""
        if not isinstance(told, dict) or told.keys() != {"dtype", "shape", "data_offsets"}:
            raise refused(f"{brief(told)} describes no tensor")
        if type(told["dtype"]) is not str or told["dtype"] not in _DTYPES:
            raise refused(
                f"the dtype {brief(told['dtype'])}, which flambeau does not have; it has "
                f"{', '.join(_DTYPES)}"
            )
        dtype = getattr(flambeau, _DTYPES[told["dtype"]])
        shape = whole_numbers(told["shape"], "sizes")
        offsets = whole_numbers(told["data_offsets"], "data_offsets")
        if len(offsets) != 2 or math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
            raise refused(f"shape {shape} of {dtype} at bytes {offsets}")
        return dtype, shape, *offsets

    def check_cover(self, parts: list[tuple[int, int]]) -> None:
        """Every byte after the header belongs to one tensor."""
        end = 0
        for begin, next_end in sorted(parts):
            if begin != end:
                raise UnreadableFileError(
                    self._source.name, f"its data has a gap or an overlap at byte {end}"
                )
            end = next_end
        if self._start + end != self._source.size:
            raise UnreadableFileError(
                self._source.name,
                f"its tensors end at byte {self._start + end}, the file at {self._source.size}",
            )

    def tensor(
        self, dtype: Any, shape: tuple[int, ...], begin: int, nbytes: int
    ) -> flambeau.Tensor:
        offset = self._start + begin
        tensors = Tensors()

        def read() -> UntypedStorage:
            # There is no checksum that reading could check: mapped unless asked otherwise.
            if self._request.mapping is not False and offset % dtype.itemsize == 0:
                mapped = self._source.mapped(offset, nbytes)
                if mapped is not None:
                    return mapped
            return self._source.storage(offset, nbytes)[0]

        storage = tensors.add(self._request.locator.place(nbytes, "cpu", read), dtype)
        strides = [1] * len(shape)
        for i in reversed(range(len(shape) - 1)):
            strides[i] = strides[i + 1] * max(shape[i + 1], 1)
        return tensors.rebuild_tensor(storage, 0, shape, strides)
