"""What takes little room in a file takes little memory and time: work grows as the file does."""

from __future__ import annotations

import io
import pickle
import random
import struct
from typing import Any

import numpy as np
import pytest
from file_pickles import (
    FLOATS,
    HOOKS,
    Call,
    Global,
    Raw,
    code,
    file_of,
    legacy_file,
    storage,
    tensor,
)

import flambeau

SIZE = 300_000  # bytes, more or less
PRIME = (1 << 61) - 1  # what Python takes numbers modulo, to hash them
EIGHT = bytes(range(8))


def load(data: bytes) -> Any:
    return flambeau.load(io.BytesIO(data))


# Keys that collide --------------------------------------------------------------------------------


def numbers() -> list[bytes]:
    """Whole numbers of one hash."""
    return [code(k * PRIME + 7) for k in range(1, SIZE // 10)]


def complex_numbers() -> list[bytes]:
    """The hash is that of the real part, and 1000003 times that of the other."""
    make = code(Global("builtins", "complex"))
    pairs = [code(-1000003.0 * k) + code(float(k)) for k in range(1, SIZE // 24)]
    assert len({hash(complex(-1000003.0 * k, k)) for k in range(1, 100)}) == 1
    return [make + b"q\x00" + pairs[0] + b"\x86R", *(b"h\x00" + p + b"\x86R" for p in pairs[1:])]


def pairs() -> list[bytes]:
    """Tuples of one hash: xxHash of two lanes, of which the second makes up for the first."""
    first, second, start = 11400714785074694791, 14029467366897019727, 2870177450012600261
    found = []
    number = 0
    while len(found) < SIZE // 22:
        number += 1
        lane = (start + number * second) % 2**64
        lane = (lane << 31 | lane >> 33) % 2**64 * first
        other = (12345 - lane) * pow(second, -1, 2**64) % 2**64
        other -= other >> 63 << 64
        if abs(other) < PRIME:
            found.append((number, other))
    assert len({hash(pair) for pair in found}) == 1
    return [code(a) + code(b) + b"\x86" for a, b in found]


def crowded() -> list[bytes]:
    """Numbers of different hashes that look for a place in a dict where all are taken."""
    mask = (1 << 17) - 1
    taken = [0]
    while len(taken) < 0.42 * mask:
        taken.append((5 * taken[-1] + 1) & mask)
    full = np.zeros(mask + 1, bool)
    full[taken] = True
    numbers = np.random.default_rng(1).integers(0, 1 << 28, 12_000_000)
    rest, place = numbers, numbers & mask
    for _ in range(7):
        chosen = full[place]
        numbers, rest, place = numbers[chosen], rest[chosen] >> 5, place[chosen]
        place = (place * 5 + rest + 1) & mask
    return [code(number) for number in taken + np.unique(numbers)[: int(0.2 * mask)].tolist()]


def as_dict(keys: list[bytes]) -> bytes:
    return b"}(" + b"".join(key + b"N" for key in keys) + b"u"


def as_built_dict(keys: list[bytes]) -> bytes:
    return b"(" + b"".join(key + b"N" for key in keys) + b"d"


def one_by_one(keys: list[bytes]) -> bytes:
    return b"}" + b"".join(key + b"Ns" for key in keys)


def as_set(keys: list[bytes]) -> bytes:
    return b"\x8f(" + b"".join(keys) + b"\x90"


def as_frozenset(keys: list[bytes]) -> bytes:
    return b"(" + b"".join(keys) + b"\x91"


def as_called_set(keys: list[bytes]) -> bytes:
    return code(Global("builtins", "set")) + b"](" + b"".join(keys) + b"e\x85R"


def as_ordered_dict(keys: list[bytes]) -> bytes:
    pairs = b"".join(key + b"N\x86" for key in keys)
    return code(Global("collections", "OrderedDict")) + b"](" + pairs + b"e\x85R"


WAYS = (as_dict, as_built_dict, one_by_one, as_set, as_frozenset, as_called_set, as_ordered_dict)


@pytest.mark.parametrize("way", WAYS)
def test_numbers_that_collide(way: Any) -> None:
    with pytest.raises(pickle.UnpicklingError, match="keys, most of which collide"):
        load(file_of(Raw(way(numbers()))))


@pytest.mark.parametrize("keys", [complex_numbers, pairs, crowded])
def test_other_keys_that_collide(keys: Any) -> None:
    with pytest.raises(pickle.UnpicklingError, match="keys, most of which collide"):
        load(legacy_file(Raw(as_dict(keys())), {}))


def test_keys_that_do_not_collide() -> None:
    chance = random.Random(2)
    numbers = {chance.randrange(1 << 64): None for _ in range(100_000)}
    assert load(file_of(numbers)) == numbers
    pairs = {(chance.randrange(50_000), chance.randrange(50_000)): i for i in range(50_000)}
    assert load(file_of(pairs)) == pairs
    names = [{("layer", i, j): "x" * i for j in range(100)} for i in range(500)]
    buffer = io.BytesIO()
    flambeau.save(names, buffer)
    assert load(buffer.getvalue()) == names


# The same again and again -------------------------------------------------------------------------

LONG = SIZE // 2
TIMES = SIZE // 12
ATTRIBUTES = {f"k{i}": None for i in range(SIZE // 24)}
PAIRS = [(i, None) for i in range(SIZE // 18)]
TENSOR = tensor(storage("0", 2), (2,), (1,))
WITH_STATE = Global("torch._utils", "_rebuild_parameter_with_state")


def again(what: Any, used: bytes, times: int = TIMES) -> Raw:
    """A list of what is made of one value, which is number 0 of the memo."""
    return Raw(code(what) + b"q\x000](" + used * times + b"e")


def calls(function: Global, argument: Any, before: bytes = b"") -> Raw:
    """A list of what a function makes of one value, every time."""
    made = b"h\x01" + (before + b"h\x00\x86" if before else b"h\x00\x85") + b"R"
    return Raw(code(function) + b"q\x010" + again(argument, made).code)


REPEATED = {
    "dict of pairs": calls(Global("collections", "OrderedDict"), PAIRS),
    "dict of a dict": calls(Global("collections", "defaultdict"), ATTRIBUTES, b"N"),
    "counter": calls(Global("collections", "Counter"), ATTRIBUTES),
    "set": calls(Global("builtins", "set"), list(range(SIZE // 6))),
    "frozenset": calls(Global("builtins", "frozenset"), list(range(SIZE // 6))),
    "bytearray": calls(Global("builtins", "bytearray"), bytes(LONG)),
    "bytes": calls(Global("_codecs", "encode"), "a" * LONG),
    "attributes": Raw(
        code(Global("collections", "OrderedDict")) + b"q\x010"
        + again(ATTRIBUTES, b"h\x01)Rh\x00b").code
    ),
    "parameters": Raw(
        code(WITH_STATE) + b"q\x010" + code(TENSOR) + b"q\x020"
        + again(ATTRIBUTES, b"h\x01(h\x02\x89" + code(HOOKS) + b"h\x00tR", SIZE // 60).code
    ),
    "long number": Raw(
        b"\x8b" + struct.pack("<i", LONG) + b"\x55" * LONG + b"q\x000}(" + b"h\x00N" * TIMES + b"u"
    ),
    "long texts": Raw(
        code("a" * LONG) + b"q\x000" + code("a" * LONG) + b"q\x010}("
        + b"h\x00Nh\x01N" * 2 * TIMES + b"u"
    ),
    "long range": Call(Global("builtins", "range"), (1 << 1000,)),
    "long name": again("a" * LONG, b"h\x00h\x00\x93"),
    "storage": again(("storage", FLOATS, "a" * LONG, "cpu", 2), b"h\x00Q"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_repetition(name: str) -> None:
    for data in (
        file_of(REPEATED[name], data_0=EIGHT),
        legacy_file(REPEATED[name], {"0": (2, EIGHT)}),
    ):
        with pytest.raises(pickle.UnpicklingError, match="load: "):
            load(data)


def test_names_in_shared_tuples_are_values_once() -> None:
    """A tuple of two equal tuples, and so on, with a class in it: 2 ** 60 parts."""
    data = file_of(Raw(code(Global("torch", "Size")) + b"\x85" + b"2\x86" * 60))
    found = load(data)
    for _ in range(60):
        assert found[0] is found[1]
        found = found[0]
    assert found == (flambeau.Size,)


def test_names_that_are_refused() -> None:
    """As many as there is room for, each with another name."""
    names = Raw(b"](" + b"".join(b"cx\n%d\n" % i for i in range(SIZE // 9)) + b"e")
    with pytest.raises(pickle.UnpicklingError, match="names x.0"):
        load(legacy_file(names, {}))
    unsafe = flambeau.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file_of(names)))
    assert unsafe == [f"x.{i}" for i in range(SIZE // 9)]
