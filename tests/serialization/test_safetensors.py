"""safetensors files: what the package of that name writes, and what it must not write."""

from __future__ import annotations

import io
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import flambeau
from flambeau import nn


def file_of(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


ONE = {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}

KINDS = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "float32", "float64", "complex64"),
)


@pytest.mark.parametrize("mapping", [None, True, False])
def test_what_the_package_writes(tmp_path: Path, mapping: bool | None) -> None:
    arrays = {kind: np.arange(6).reshape(2, 3).astype(kind) for kind in KINDS}
    arrays |= {"scalar": np.array(3.5, "float32"), "empty": np.zeros((0, 3), "float32")}
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file(arrays, path, metadata={"format": "np"})
    found = flambeau.load(path, mmap=mapping)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype.name == str(array.dtype)
        np.testing.assert_array_equal(found[name].numpy(), array)


def test_bfloat16() -> None:
    bits = np.array([1.5, -2], "float32").view("uint32") >> 16
    header = {"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    found = flambeau.load(io.BytesIO(file_of(header, bits.astype("<u2").tobytes())))
    assert found["x"].dtype == flambeau.bfloat16 and found["x"].tolist() == [1.5, -2]


def test_nothing_is_copied(tmp_path: Path) -> None:
    """The memory is the file's, until it is written to; then it is this process's."""
    path = tmp_path / "x.safetensors"
    safetensors.numpy.save_file({"x": np.zeros(1 << 20, "float32")}, path)
    before = path.read_bytes()
    tensor = flambeau.load(path)["x"]
    maps = Path("/proc/self/maps").read_text().splitlines()
    (line,) = [line for line in maps if line.endswith(str(path))]
    begin, end = (int(text, 16) for text in line.split()[0].split("-"))
    assert begin <= tensor.data_ptr() < end
    tensor.fill_(1)
    assert tensor.sum().item() == 1 << 20
    assert path.read_bytes() == before
    del tensor
    assert str(path) not in Path("/proc/self/maps").read_text()


def test_tensors_anywhere_in_a_file(tmp_path: Path) -> None:
    """Of a file that is read from the middle, also where numbers are not aligned."""
    data = np.arange(6, dtype="float32").tobytes() + b"\1\0" + np.arange(3.0).tobytes()
    header = {
        "last": {"dtype": "F64", "shape": [3], "data_offsets": [26, 50]},
        "first": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "none": {"dtype": "I64", "shape": [3, 0], "data_offsets": [24, 24]},
        "flags": {"dtype": "BOOL", "shape": [2], "data_offsets": [24, 26]},
    }
    path = tmp_path / "x"
    path.write_bytes(b"before" + file_of(header, data))
    with open(path, "rb") as file:
        file.seek(6)
        found = flambeau.load(file)
        assert file.read() == b""
    assert found["first"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["none"].shape == (3, 0)
    assert found["flags"].tolist() == [True, False] and found["last"].tolist() == [0, 1, 2]


def test_a_module_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    weight, bias = np.ones((2, 3), "float32"), np.arange(2).astype("float32")
    safetensors.numpy.save_file({"weight": weight, "bias": bias}, path)
    layer = nn.Linear(3, 2)
    layer.load_state_dict(flambeau.load(path))
    np.testing.assert_array_equal(layer.weight.detach().numpy(), weight)
    np.testing.assert_array_equal(layer.bias.detach().numpy(), bias)


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        ({"x": ONE["x"] | {"dtype": "F8_E4M3", "shape": [8]}}, bytes(8), "F8_E4M3.*does not have"),
        ({"x": ONE["x"] | {"dtype": "F4", "shape": [16]}}, bytes(8), "F4.*does not have"),
        ({"x": ONE["x"] | {"dtype": "Q7"}}, bytes(8), "unknown variant `Q7`"),
        ({"x": ONE["x"] | {"shape": [3]}}, bytes(8), "invalid shape, data type"),
        ({"x": ONE["x"] | {"shape": [-2]}}, bytes(8), "invalid value"),
        ({"x": ONE["x"] | {"shape": [1 << 62, 1 << 62]}}, bytes(8), "overflow.* shape"),
        ({"x": ONE["x"] | {"data_offsets": [8, 0]}}, bytes(8), "offset for tensor `x`"),
        ({"x": ONE["x"] | {"data_offsets": [4, 12]}}, bytes(12), "offset for tensor `x`"),
        (ONE | {"y": ONE["x"]}, bytes(8), "offset for tensor"),
        (ONE, bytes(7), "not fully covered"),
        (ONE, bytes(9), "not fully covered"),
        ({"x": 5}, bytes(8), "integer `5`"),
        ({"x": {"dtype": "F32", "shape": [2]}}, bytes(8), "missing field `data_offsets`"),
        (b'{"x": {"dtype"', b"", "EOF while parsing"),
        (b'{"x": ' + b"[" * 100_000, b"", "recursion limit"),
        (b"{" + b" " * (100 << 20), b"", "header too large"),
    ],
)
def test_damaged(header: Any, data: bytes, message: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=f"^load: the file object, .*{message}"):
        flambeau.load(io.BytesIO(file_of(header, data)))
