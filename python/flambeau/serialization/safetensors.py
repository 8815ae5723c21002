"""The safetensors format: a header in JSON, then the bytes of all tensors.

The file begins with the length of the header in 64 bits. The package of that name reads the header,
and checks it; the tensors are memory of the file. (What the package gives itself are copies, or
tensors of other libraries.)
"""

from __future__ import annotations

import math
import os
from typing import Any

import flambeau
from flambeau import _C, UntypedStorage
from flambeau._values import brief
from flambeau.serialization.problems import told_of
from flambeau.serialization.request import Request
from flambeau.serialization.source import Source
from flambeau.serialization.tensors import Tensors, refused

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
    """The tensors of the file by name, in the order of their bytes."""
    end = 8 + int.from_bytes(source.read(0, 8), "little")
    with told_of(f"{source.name}, its header"):
        described = _described(source, end)
    result = {}
    for name, kind, shape in described:
        with told_of(f"{source.name}, tensor {brief(name)}"):
            if kind not in _DTYPES:
                raise refused(
                    f"the dtype {brief(kind)}, which flambeau does not have; it has "
                    f"{', '.join(_DTYPES)}"
                )
            dtype = getattr(flambeau, _DTYPES[kind])
            nbytes = math.prod(shape) * dtype.itemsize
            result[name] = _tensor(source, request, dtype, shape, end, nbytes)
            end += nbytes  # the package has seen that there are no gaps
    source.end = source.size
    return result


def _described(source: Source, end: int) -> list[tuple[str, str, list[int]]]:
    """Name, dtype and shape of every tensor, in the order of their bytes."""
    from safetensors import safe_open

    # The package opens files by name, and looks at the header and the size: those of this one.
    descriptor = os.memfd_create("header of safetensors")
    try:
        _C._write_file(descriptor, 0, source.read(0, end))
        if source.size > end:
            _C._write_file(descriptor, source.size - 1, b"\0")
        with safe_open(f"/proc/self/fd/{descriptor}", "numpy") as file:
            parts = ((name, file.get_slice(name)) for name in file.offset_keys())
            return [(name, part.get_dtype(), part.get_shape()) for name, part in parts]
    finally:
        os.close(descriptor)


def _tensor(
    source: Source, request: Request, dtype: Any, shape: list[int], offset: int, nbytes: int
) -> flambeau.Tensor:
    def read() -> UntypedStorage:
        # There is no checksum that reading could check: mapped unless asked otherwise.
        if request.mapping is not False:
            mapped = source.mapped(offset, nbytes, dtype.itemsize)
            if mapped is not None:
                return mapped
        return source.storage(offset, nbytes)[0]

    tensors = Tensors()
    storage = tensors.add(request.locator.place(nbytes, "cpu", read), dtype)
    strides = [1] * len(shape)
    for i in reversed(range(len(shape) - 1)):
        strides[i] = strides[i + 1] * max(shape[i + 1], 1)
    return tensors.rebuild_tensor(storage, 0, shape, strides)
