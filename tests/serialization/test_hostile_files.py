"""What a file may not do: run code, change the library, take memory or time without end."""

from __future__ import annotations

import io
import os
import pickle
import resource
import struct
import subprocess
import sys
import zipfile
from collections import OrderedDict
from typing import Any

import pytest
from file_pickles import (
    FLOATS,
    HOOKS,
    Call,
    Global,
    Persistent,
    Raw,
    code,
    file_of,
    legacy_file,
    pickled,
    storage,
    tar_file,
    tar_storage,
    tensor,
    zipped,
)
from file_state import library_state

import flambeau
from flambeau import serialization


def load(data: bytes, **options: Any) -> Any:
    return flambeau.load(io.BytesIO(data), **options)


def refuses(data: bytes, message: str, **options: Any) -> None:
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match=message):
        load(data, **options)


EIGHT = bytes(range(8))
REBUILD_PARAMETER = Global("torch._utils", "_rebuild_parameter")
SIZE, DEVICE = Global("torch", "Size"), Global("torch", "device")
RANGE = Global("builtins", "range")


# Code, and the state of the library ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("__builtin__", "exec"),
        ("builtins", "__import__"),
        ("functools", "partial"),
        ("operator", "attrgetter"),
        ("flambeau.serialization.saving", "os.getcwd"),
        ("flambeau.serialization", "add_safe_globals"),
        ("flambeau", "set_default_dtype"),
        ("flambeau", "load"),
        ("torch", "load"),
        ("torch.serialization", "load"),
        ("collections", "namedtuple"),
        ("collections", "OrderedDict.fromkeys"),
        ("copyreg", "__newobj__"),
        ("", ""),
    ],
)
def test_names_that_are_not_allowed(module: str, name: str) -> None:
    named = Global(module, name)
    refuses(file_of(Call(named, ("echo never",))), "weights_only")
    by_stack = Raw(code(module) + code(name) + b"\x93")
    refuses(file_of(Call(by_stack, ())), "weights_only")
    refuses(file_of(Raw(b"(" + f"i{module}\n{name}\n".encode())), "weights_only")


TARGETS = [
    REBUILD_PARAMETER,
    Global("torch._utils", "_rebuild_tensor_v2"),
    SIZE,
    DEVICE,
    FLOATS,
    Global("torch", "float32"),
    Global("torch", "Tensor"),
    Global("torch", "FloatTensor"),
    Global("torch.nn.parameter", "Parameter"),
    Global("collections", "OrderedDict"),
    Global("collections", "Counter"),
    Global("builtins", "set"),
    Global("builtins", "int"),
    Call(SIZE, ((1, 2),)),
    Call(DEVICE, ("cpu",)),
    Call(Global("collections", "Counter"), ({},)),
    Call(Global("builtins", "set"), ([],)),
    {},
    [],
    (),
    5,
    "text",
    storage("0", 2),
]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize(
    "state",
    [{"numel": 1, "__defaults__": (1,)}, (None, {"numel": 1}), ({"x": 1}, {"y": 2}), 5],
    ids=["dict", "slots", "both", "number"],
)
def test_state_is_set_on_nothing_of_the_library(target: Any, state: Any) -> None:
    load(file_of(1))  # what loads on first use is there
    before = library_state()
    data = file_of(Raw(code(target) + code(state) + b"b"), data_0=EIGHT)
    refuses(data, "a state for|attributes|state of")
    assert library_state() == before


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_items_are_set_on_nothing_of_the_library(target: Any) -> None:
    load(file_of(1))
    before = library_state()
    for tail in (
        code("numel") + code(1) + b"s",
        code(1) + b"a",
        b"(" + code(1) + b"\x90",
        b"(" + code("numel") + code(1) + b"u",
    ):
        data = file_of(Raw(code(target) + tail), data_0=EIGHT)
        try:
            load(data)
        except pickle.UnpicklingError:
            continue
        assert isinstance(target, dict | list | Call)
    assert library_state() == before


def test_names_as_values() -> None:
    """Classes come back as classes; what only makes objects does not come back."""
    ordered, size = Global("collections", "OrderedDict"), SIZE
    value = [ordered, (1, (size,)), {"a": (ordered, 2)}, Global("torch", "Tensor")]
    found = load(file_of(value))
    expected = [OrderedDict, (1, (flambeau.Size,)), {"a": (OrderedDict, 2)}, flambeau.Tensor]
    assert found == expected
    assert load(file_of(((ordered,), 5))) == ((OrderedDict,), 5)
    for wrong in (REBUILD_PARAMETER, FLOATS, (1, (FLOATS,)), [FLOATS], {"a": (FLOATS,)}):
        refuses(file_of(wrong), "as a value")


def test_methods_are_not_hidden() -> None:
    """A name that an OrderedDict or a tensor has means that, whatever a file says."""
    ordered = Call(Global("collections", "OrderedDict"), (), {"_metadata": {"": 1}})
    assert load(file_of(ordered))._metadata == {"": 1}
    refuses(file_of(Call(Global("collections", "OrderedDict"), (), {"items": 5})), "'items'")
    kind = Global("torch._tensor", "_rebuild_from_type_v2")
    parts = (storage("0", 2), 0, (2,), (1,), False, HOOKS)
    rebuild = Global("torch._utils", "_rebuild_tensor_v2")
    given = (rebuild, Global("torch", "Tensor"), parts)
    data = file_of(Call(kind, (*given, {"note": 5})), data_0=EIGHT)
    assert load(data).note == 5
    refuses(file_of(Call(kind, (*given, {"backward": 5})), data_0=EIGHT), "'backward'")
    refuses(file_of(Call(kind, (*given, {5: 5})), data_0=EIGHT), "an attribute 5")


def test_hooks_are_refused() -> None:
    hooks = {1: Global("builtins", "int")}
    parts = (storage("0", 2), 0, (2,), (1,), True, hooks)
    rebuild = Global("torch._utils", "_rebuild_tensor_v2")
    refuses(file_of(Call(rebuild, parts), data_0=EIGHT), "hooks")


class Own:
    made: list[Any] = []  # noqa: RUF012

    def __init__(self, *values: Any) -> None:
        Own.made.append(self)
        self.values = values


def own_function() -> type:
    return Own


def test_state_only_of_objects_that_the_user_allows() -> None:
    name = Global(__name__, "Own")
    refuses(file_of(Call(name, (), {"x": 1})), "Own")
    with serialization.safe_globals([Own]):
        assert load(file_of(Call(name, (1,), {"x": 2}))).__dict__ == {"values": (1,), "x": 2}
        made = Raw(code(name) + b")\x81" + code({"x": 3}) + b"b")
        assert load(file_of(made)).__dict__ == {"x": 3}
        refuses(file_of(Raw(code(name) + code({"x": 1}) + b"b")), "a state for")
    # What a function returns may be anybody's: here, the class.
    with serialization.safe_globals([own_function]):
        found = Call(Global(__name__, "own_function"), (), {"x": 1})
        refuses(file_of(found), "a state for")
    assert not hasattr(Own, "x")
    with serialization.safe_globals([(Own, "elsewhere.Name")]):
        assert isinstance(load(file_of(Call(Global("elsewhere", "Name"), ()))), Own)
    with pytest.raises(TypeError, match="add_safe_globals"):
        serialization.add_safe_globals([5])
    assert serialization.get_safe_globals() == []


@pytest.mark.parametrize("protocol", range(6))
def test_objects_of_the_user_in_all_protocols(protocol: int) -> None:
    value = Own(1)
    value.text = "x"  # type: ignore[attr-defined]
    data = zipped({"data.pkl": pickle.dumps([value], protocol)})
    with serialization.safe_globals([Own]):
        assert load(data)[0].__dict__ == {"values": (1,), "text": "x"}


# Memory and time ----------------------------------------------------------------------------------


def long_chain(opcode: bytes, count: int) -> bytes:
    return b")" + opcode * count


def doubled_tuples(count: int) -> bytes:
    """A tuple of two equal tuples, and so on: 2 ** count parts."""
    return b")" + b"2\x86" * count


def shared_sets(count: int) -> bytes:
    """A frozenset of a frozenset and a tuple of it, and so on: comparing two visits all parts."""
    return b"(" * (count + 1) + b"\x91" + b"2\x85\x91" * count


BOMBS = {
    "memo index": Raw(b"Nr\xff\xff\xff\x0f"),
    "bytearray": Call(Global("builtins", "bytearray"), (3 << 30,)),
    "bytes": Raw(b"B\xff\xff\xff\x7f"),
    "text": Raw(b"X\xff\xff\xff\x7f"),
    "long text": Raw(b"\x8d" + struct.pack("<Q", 1 << 40)),
    "long number": Raw(b"\x8b\xff\xff\xff\x7f"),
    "negative length": Raw(b"\x8b\xff\xff\xff\xff"),
    "digits": Raw(b"L" + b"9" * 100_000 + b"L\n"),
    "frame": Raw(b"\x95" + struct.pack("<Q", 1 << 40)),
    "byte array": Raw(b"\x96" + struct.pack("<Q", 1 << 40)),
    "marks": Raw(b"(" * 100_000),
    "shared key": Raw(b"}" + doubled_tuples(200) + b"Ns"),
    "deep key": Raw(b"}" + long_chain(b"\x85", 100_000) + b"Ns"),
    "shared set": Raw(b"\x8f(" + doubled_tuples(200) + b"\x90"),
    "sets of sets": Raw(b"\x8f(" + shared_sets(40) + shared_sets(40) + b"\x90"),
    "list of a range": Call(Global("builtins", "list"), (Call(RANGE, (1 << 40,)),)),
    "set of a range": Call(Global("builtins", "set"), (Call(RANGE, (1 << 40,)),)),
    "size": Call(SIZE, ([1] * 100,)),
    "huge view": tensor(storage("0", 2), (1 << 40, 1 << 40), (0, 0)),
    "view beyond": tensor(storage("0", 2), (3,), (1,)),
    "view offset": tensor(storage("0", 2), (1,), (1,), 2),
    "view stride": tensor(storage("0", 2), (2,), (1 << 62,)),
    "negative stride": tensor(storage("0", 2), (2,), (-1,), 1),
    "true size": tensor(storage("0", 2), (True,), (1,)),
    "many dims": tensor(storage("0", 2), (1,) * 100, (1,) * 100),
    "storage size": tensor(storage("0", 1 << 26), (1,), (1,)),
    "storage name": tensor(storage("../../etc/passwd", 2), (1,), (1,)),
    "empty stack": Raw(b"R"),
    "two objects": Raw(b"NN"),
    "open object": Raw(b"(N"),
    "no opcode": Raw(b"\xff"),
    "extension": Raw(b"\x82\x01"),
    "protocol": Raw(b"\x80\x09N"),
    "memo": Raw(b"h\x05"),
    "odd pairs": Raw(b"}(Nu"),
    "unhashable": Raw(b"}]Ns"),
    "bad text": Raw(b"X\x01\x00\x00\x00\xff"),
    "persistent": Persistent(("module", 1, 2, 3, 4)),
    "number": Persistent(5),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    """A file of a few bytes: an error, in little memory and time."""
    value = BOMBS[name]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in (
        file_of(value, data_0=EIGHT),
        legacy_file(value, {"0": (2, EIGHT)}),
    ):
        refuses(data, "load: ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 100_000


def test_sizes_of_other_formats_are_those_of_the_file() -> None:
    floats = Persistent(("storage", FLOATS, "0", "cpu", 1 << 26, None))
    refuses(legacy_file(tensor(floats, (1,), (1,)), {"0": (1 << 26, EIGHT)}), "are to follow")
    storages = pickled(1) + tar_storage((1, FLOATS), 1 << 26, EIGHT)
    parts = {"storages": storages, "tensors": pickled(0), "pickle": pickled(1)}
    refuses(tar_file(parts), "are to follow")
    parts = {"storages": pickled(1 << 40), "tensors": pickled(0), "pickle": pickled(1)}
    refuses(tar_file(parts), "records are to follow")


def test_compressed_entries_grow_within_bounds() -> None:
    small = {"data.pkl": pickled(tensor(storage("0", 1000), (1000,), (1,))), "data/0": bytes(4000)}
    assert load(zipped(small, zipfile.ZIP_DEFLATED)).tolist() == [0] * 1000
    large = {"data.pkl": pickled([1]), "data/0": bytes(64 << 20)}
    refuses(zipped(large, zipfile.ZIP_DEFLATED), "compressed entries would be")
    # Or the archive says less than what comes out.
    data = bytearray(zipped(small, zipfile.ZIP_DEFLATED))
    at = data.rfind(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 3996)
    changed = small | {"data.pkl": pickled(tensor(storage("0", 999), (999,), (1,)))}
    data = bytearray(zipped(changed, zipfile.ZIP_DEFLATED))
    at = data.rfind(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 3996)
    refuses(bytes(data), "other than the 3996 bytes declared")


def test_entries_do_not_share_bytes() -> None:
    """Or a thousand names could each be all of a large file."""
    value = [tensor(storage(key, 2), (2,), (1,)) for key in "01"]
    data = bytearray(file_of(value, data_0=EIGHT, data_1=EIGHT))
    # The last entry of the directory begins where the one before begins, and then within it.
    last = data.rfind(b"PK\x01\x02")
    before = data.rfind(b"PK\x01\x02", 0, last)
    (begin,) = struct.unpack_from("<I", data, before + 42)
    for offset in (0, 4):
        data[last + 42 : last + 46] = struct.pack("<I", begin + offset)
        refuses(bytes(data), "it lies in the entry 'archive/data/0'")


def test_two_entries_of_one_name() -> None:
    content = io.BytesIO(file_of(1))
    with zipfile.ZipFile(content, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("archive/data.pkl", pickled(2))
    refuses(content.getvalue(), "two entries")


def test_damaged_entries_are_named() -> None:
    good = file_of(tensor(storage("0", 2), (2,), (1,)), data_0=EIGHT)
    at = good.index(EIGHT)
    refuses(
        good[:at] + b"\xff" + good[at + 1 :], "entry 'archive/data/0': it is damaged: its CRC-32"
    )
    at = good.index(b"_rebuild_tensor_v2")
    refuses(good[:at] + b"\xff" + good[at + 1 :], "entry 'archive/data.pkl': it is damaged")
    for length in range(0, len(good), 11):
        refuses(good[:length], "load: ")


@pytest.mark.parametrize(
    "data", [b"", b"PK\x05\x06" + bytes(18), b"PK\x03\x04", b"\x80\x02N.", b"{}"]
)
def test_other_files(data: bytes) -> None:
    refuses(data, "load: the file object")


def test_torchscript_is_told_apart() -> None:
    entries = {"data.pkl": pickled(1), "constants.pkl": pickled(()), "code/x.py": b""}
    refuses(zipped(entries), "TorchScript")
    refuses(zipped({"data.pkl": pickled(1), ".format_version": b"2"}), "later format")
    refuses(zipped({"data.pkl": pickled(1), "byteorder": b"odd"}), "byteorder")


def test_bombs_under_a_limit_of_memory(tmp_path: Any) -> None:
    """The same with 1 GB of address space: what would take more is seen also where it is not
    touched."""
    program = (
        "import resource, sys, pytest\n"
        "import flambeau\n"
        "limit = 1 << 30\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + limit, used + limit))\n"
        f"chosen = [{__file__!r}, '-k', 'bombs and not limit']\n"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', *chosen]))\n"
    )
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the address sanitizer takes terabytes of address space")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
