"""The formats of PyTorch's first years and of this library's, from an independent writer."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from file_pickles import (
    Call,
    Global,
    Persistent,
    Raw,
    code,
    legacy_file,
    pickled,
    tar_file,
    tar_storage,
    tar_tensor,
    tensor,
    zipped,
)

import flambeau


def loaded(data: bytes, **options: Any) -> Any:
    return flambeau.load(io.BytesIO(data), **options)


def numbers(count: int, kind: str = "<f4") -> bytes:
    return np.arange(count).astype(kind).tobytes()


FLOAT_TENSOR, FLOATS = Global("torch", "FloatTensor"), Global("torch", "FloatStorage")
LONGS = Global("torch.cuda", "LongStorage")


def first_tar() -> dict[str, bytes]:
    """Of the first releases: no devices, no parts of storages."""
    storages = tar_storage((10, FLOATS), 6, numbers(6)) + tar_storage(
        (11, LONGS), 3, numbers(3, "<i8")
    )
    tensors = tar_tensor((20, FLOAT_TENSOR, 10), (3, 2), (1, 3), 0)
    tensors += tar_tensor((21, FLOAT_TENSOR, 10), (2,), (1,), 4)
    tensors += tar_tensor((22, Global("torch", "LongTensor"), 11), (3,), (1,), 0)
    return {
        "sys_info": pickled({"protocol_version": 1000, "little_endian": True}),
        "pickle": pickled({"a": Persistent("20"), "b": Persistent("21"), "c": [Persistent("22")]}),
        "tensors": pickled(3) + tensors,
        "storages": pickled(2) + storages,
    }


def second_tar() -> dict[str, bytes]:
    """Of the end of 2016: devices, and storages that are parts of others."""
    storages = tar_storage((10, "cpu", FLOATS), 6, numbers(6))
    tensors = tar_tensor((20, 10, FLOAT_TENSOR), (2, 3), (3, 1), 0)
    tensors += tar_tensor((21, 30, FLOAT_TENSOR), (2,), (1,), 0)
    tensors += tar_tensor((22, None, FLOAT_TENSOR), (), (), 0)
    pairs = [["x", Persistent("20")], ["y", Persistent("21")]]
    return {
        "pickle": pickled(Call(Global("collections", "OrderedDict"), (pairs,))),
        "tensors": pickled(3) + tensors,
        "storages": pickled(1) + storages + pickled([(30, 10, 3, 2)]),
    }


def test_first_tar() -> None:
    found = loaded(tar_file(first_tar()), map_location="cpu")
    assert found["a"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["b"].tolist() == [4, 5]
    assert found["c"][0].dtype == flambeau.int64 and found["c"][0].tolist() == [0, 1, 2]
    found["b"].fill_(-1)
    assert found["a"].tolist() == [[0, 3], [1, -1], [2, -1]]


def test_second_tar() -> None:
    parts = second_tar()
    references = [Persistent("20"), Persistent("21"), Persistent("22"), Persistent("30")]
    parts["pickle"] = pickled(references)
    whole, part, nothing, storage = loaded(tar_file(parts))
    assert whole.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert part.tolist() == [3, 4] and nothing.tolist() == []
    assert storage.nbytes() == 8
    part.fill_(9)
    assert whole.tolist() == [[0, 1, 2], [9, 9, 5]]
    pairs = loaded(tar_file(second_tar()))
    assert type(pairs) is OrderedDict and [*pairs] == ["x", "y"]


@pytest.mark.parametrize("missing", ["pickle", "tensors", "storages"])
def test_tar_of_something_else(missing: str) -> None:
    parts = first_tar()
    del parts[missing]
    with pytest.raises(RuntimeError, match=f"it has no '{missing}'"):
        loaded(tar_file(parts), map_location="cpu")


@pytest.mark.parametrize("part", ["storages", "tensors"])
def test_tar_that_ends_early(part: str) -> None:
    parts = first_tar()
    for length in range(0, len(parts[part]), 7):
        with pytest.raises((pickle.UnpicklingError, RuntimeError), match=f"entry '{part}'"):
            loaded(tar_file(parts | {part: parts[part][:length]}), map_location="cpu")


# Pickles one after another ---------------------------------------------------------------------


def legacy_storage(key: str, count: int, view: Any = None) -> Persistent:
    return Persistent(("storage", FLOATS, key, "cpu", count, view))


def test_legacy_parts_of_storages() -> None:
    """Files of 0.1 say that a storage is a part of another."""
    value = [
        tensor(legacy_storage("7", 6), (6,), (1,)),
        tensor(legacy_storage("7", 6, ("8", 2, 3)), (3,), (1,)),
        tensor(legacy_storage("7", 6, ("8", 2, 3)), (1,), (1,), 2),
    ]
    whole, part, last = loaded(legacy_file(value, {"7": (6, numbers(6))}))
    assert part.tolist() == [2, 3, 4] and last.tolist() == [4]
    part.fill_(0)
    assert whole.tolist() == [0, 1, 0, 0, 0, 5] and last.tolist() == [0]


def test_legacy_tensors_that_get_a_state() -> None:
    """Files of 0.1 make an empty tensor and give it (storage, offset, size, stride)."""
    made = Call(FLOAT_TENSOR, (), (legacy_storage("7", 4), 1, (3,), (1,)))
    parameter = Call(
        Global("torch.nn.parameter", "Parameter"),
        (tensor(legacy_storage("7", 4), (4,), (1,)),),
        (False, False, Call(Global("collections", "OrderedDict"), ())),
    )
    first, second = loaded(legacy_file([made, parameter], {"7": (4, numbers(4))}))
    assert first.tolist() == [1, 2, 3] and first.dtype == flambeau.float32
    assert isinstance(second, flambeau.nn.Parameter) and not second.requires_grad
    assert second.tolist() == [0, 1, 2, 3]


def test_legacy_files_one_after_another() -> None:
    """A file object stands behind what was read."""
    one = legacy_file(tensor(legacy_storage("7", 3), (3,), (1,)), {"7": (3, numbers(3))})
    file = io.BytesIO(one + legacy_file("second", {}))
    assert flambeau.load(file).tolist() == [0, 1, 2]
    assert flambeau.load(file) == "second"


def test_legacy_strings_of_python_2() -> None:
    text = Raw(b"U\x02\xc3\xa9")
    assert loaded(legacy_file(text, {})) == "\u00e9"
    assert loaded(legacy_file(text, {}), encoding="latin1") == "\u00c3\u00a9"
    assert loaded(legacy_file(text, {}), encoding="bytes") == b"\xc3\xa9"


def test_legacy_storage_that_no_tensor_needs() -> None:
    value = tensor(legacy_storage("7", 3), (3,), (1,))
    with pytest.raises(pickle.UnpicklingError, match="not those that tensors refer to"):
        loaded(legacy_file(value, {"7": (3, numbers(3)), "8": (1, numbers(1))}))
    with pytest.raises(pickle.UnpicklingError, match="4 elements, and a tensor says 3"):
        loaded(legacy_file(value, {"7": (4, numbers(4))}))
    with pytest.raises(pickle.UnpicklingError, match="bytes are to follow"):
        loaded(legacy_file(value, {"7": (3, numbers(2))}))


# Other processors, and this library's own format 1 -----------------------------------------------


@pytest.mark.parametrize(
    ("kind", "numpy_kind"),
    [("Float", "f4"), ("Long", "i8"), ("ComplexDouble", "c16"), ("Byte", "u1")],
)
def test_numbers_of_big_endian_processors(kind: str, numpy_kind: str) -> None:
    values = np.arange(1, 5).astype(numpy_kind) * (1 + 2j if kind.startswith("Complex") else 1)
    data = values.astype(f">{numpy_kind}").tobytes()
    name = Global("torch", f"{kind}Storage")
    of = Persistent(("storage", name, "0", "cpu", 4))
    entries = {"data.pkl": pickled(tensor(of, (4,), (1,))), "byteorder": b"big", "data/0": data}
    np.testing.assert_array_equal(loaded(zipped(entries)).numpy(), values)


def test_format_1() -> None:
    def of(number: int, dtype: str, size: tuple[int, ...], stride: tuple[int, ...]) -> Call:
        rebuild = Global("flambeau.serialization", "_rebuild_tensor")
        storage = Persistent(("storage", number, "cpu"))
        return Call(rebuild, (storage, Global("flambeau", dtype), 0, size, stride, False))

    value = {
        "a": of(0, "float32", (2, 3), (3, 1)),
        "b": of(0, "int32", (6,), (1,)),
        "p": Call(
            Global("flambeau.serialization", "_rebuild_parameter"),
            (of(1, "float64", (2,), (1,)), True),
        ),
        "n": Call(
            Global("flambeau.serialization", "_rebuild_buffer"),
            (of(1, "float64", (2,), (1,)), False),
        ),
        "size": Call(Global("flambeau", "Size"), ([1, 2],)),
        "dtype": Global("flambeau", "bfloat16"),
        "device": Call(Global("flambeau", "device"), ("cpu",)),
    }
    entries = {
        "version": b"1",
        "structure.pkl": pickled(value),
        "storages/0": numbers(6),
        "storages/1": numbers(2, "<f8"),
    }
    found = loaded(zipped(entries, prefix="flambeau/"))
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["b"].dtype == flambeau.int32
    assert found["b"].data_ptr() == found["a"].data_ptr()
    assert isinstance(found["p"], flambeau.nn.Parameter) and found["p"].requires_grad
    assert isinstance(found["n"], flambeau.nn.Buffer) and not found["n"].persistent
    assert found["size"] == flambeau.Size([1, 2])
    assert found["dtype"] is flambeau.bfloat16 and found["device"] == flambeau.device("cpu")
    with pytest.raises(RuntimeError, match="flambeau/version': it is '2'"):
        loaded(zipped(entries | {"version": b"2"}, prefix="flambeau/"))


@pytest.mark.parametrize("protocol", range(6))
def test_protocols_of_python(protocol: int) -> None:
    """What Python's own pickler writes, the interpreter reads."""
    value = {
        "numbers": [0, 1, -1, 255, 256, 65536, -70000, 1 << 40, -(1 << 70), 1.5, float("inf")],
        "text": ["", "a", "\u00e9\n\\ \U0001f600", "x" * 300],
        "bytes": [b"", b"ab\0\xff", b"y" * 300, bytearray(b"z")],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, (4,))],
        "sets": [set(), {1, 2}, frozenset([1, (2, 3)])],
        "rest": [None, True, False, 1j, slice(1, 2), range(3), OrderedDict(a=1)],
        "many": list(range(3000)),
        "dict": {i: str(i) for i in range(3000)},
    }
    value["again"] = value["numbers"]
    entries = {"data.pkl": pickle.dumps(value, protocol)}
    found = loaded(zipped(entries))
    assert found == value
    assert found["again"] is found["numbers"]


def test_opcodes_that_no_pickler_writes_now() -> None:
    """INST, OBJ, DICT, LIST, POP, DUP and long indices of the memo."""
    program = b"(" + code("x") + code(1) + b"d" + b"2" + b"0" + b"(" + code(2) + b"1"
    program += b"p20\n0" + b"g20\n"
    assert loaded(zipped({"data.pkl": program + b"."})) == {"x": 1}
    ordered = b"(icollections\nOrderedDict\n."
    assert type(loaded(zipped({"data.pkl": ordered}))) is OrderedDict
    made = b"(" + code(Global("collections", "OrderedDict")) + b"o."
    assert type(loaded(zipped({"data.pkl": made}))) is OrderedDict
    assert loaded(zipped({"data.pkl": b"(I1\nI2\nl."})) == [1, 2]
