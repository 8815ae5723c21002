"""The format of torch.save before 1.6: pickles one after another, then storages.

The pickles: a magic number, the version 1001, a dict about the machine, the object, the keys of the
storages in the order in which they follow. Each storage is its number of elements, in 64 bits, and
the elements.
"""

from __future__ import annotations

from typing import Any, Literal

from flambeau import _C, UntypedStorage
from flambeau._values import brief
from flambeau.serialization.interpreter import Interpreter
from flambeau.serialization.problems import UnreadableFileError, told_of
from flambeau.serialization.request import (
    Reference,
    Request,
    in_native_order,
    key_text,
    reference,
)
from flambeau.serialization.source import Source
from flambeau.serialization.stream import Stream
from flambeau.serialization.survey import Survey
from flambeau.serialization.tensors import Tensors, refused

MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
Order = Literal["little", "big"]


def begins(source: Source) -> bool:
    """Whether the file begins with the magic number."""
    head = source.read(0, min(source.size, 64))
    return any(
        head.startswith(number)
        for number in (
            b"\x8a\x0a" + MAGIC.to_bytes(10, "little"),
            *(bytes([0x80, p, 0x8A, 10]) + MAGIC.to_bytes(10, "little") for p in range(2, 6)),
            b"L%dL\n" % MAGIC,
        )
    )


def load(source: Source, request: Request) -> Any:
    """What the file holds."""
    if request.mapping:
        raise UnreadableFileError(
            source.name, "mmap=True needs a file in the zip format; this one has the one before"
        )
    stream = Stream(source.read, 0, source.size)
    order = read_head(source, stream)
    begin = stream.position
    found = _found_storages(source, stream, order)
    end = stream.position
    tensors = Tensors()
    storages: dict[str, UntypedStorage] = {}

    def persistent(pid: Any) -> Any:
        if not request.weights_only and type(pid) is tuple and pid and pid[0] == "module":
            return pid[1]  # a class, with its source
        wanted = reference(pid, (5, 6))
        if wanted.key not in storages:
            offset = found[wanted.key]
            storages[wanted.key] = request.locator.place(
                wanted.nbytes,
                wanted.location,
                lambda: in_native_order(
                    source.storage(offset, wanted.nbytes)[0], wanted.kind, order
                ),
            )
        return tensors.add(_part(storages, wanted), wanted.dtype)

    result = request.unpickle(
        source.name, Stream(source.read, begin, source.size), persistent, tensors
    )
    source.end = end
    return result


def read_head(source: Source, stream: Stream) -> Order:
    """Passes what stands before the object; the byte order of the file."""
    plain = Interpreter(source.name, stream)
    plain.load()
    version, machine = plain.load(), plain.load()
    if version != _VERSION:
        raise UnreadableFileError(source.name, f"it has version {brief(version)}, not {_VERSION}")
    little = machine.get("little_endian", True) if isinstance(machine, dict) else True
    return "little" if little else "big"


def _part(storages: dict[str, UntypedStorage], wanted: Reference) -> UntypedStorage:
    """The storage that is referred to: a part of one, in files of the first years."""
    if wanted.view is None:
        return storages[wanted.key]
    key, first, nbytes = wanted.view
    name = f"{wanted.key}/{key}"
    if name not in storages:
        try:
            storages[name] = _C._storage_part(storages[wanted.key], first, nbytes)
        except ValueError as error:
            raise refused(str(error)) from error
    return storages[name]


def _found_storages(source: Source, stream: Stream, order: Order) -> dict[str, int]:
    """Where the elements of each storage begin. Leaves the stream after the last."""
    survey = Survey(source.name, stream)
    survey.load()
    with told_of(source.name):
        wanted: dict[str, Reference] = {}
        for pid in survey.references:
            if type(pid) is tuple and pid and pid[0] in ("module", b"module"):
                continue
            each = reference(pid, (5, 6))
            if wanted.setdefault(each.key, each).nbytes != each.nbytes:
                raise refused(f"the storage {brief(each.key)} has two sizes")
    keys = Interpreter(source.name, stream).load()
    with told_of(source.name):
        if type(keys) is not list:
            raise refused(f"the keys of storages are to be a list, and are {brief(keys)}")
        names = [key_text(key) for key in keys]
        if len(set(names)) != len(names) or set(names) != wanted.keys():
            raise refused("the storages that follow are not those that tensors refer to")
        found = {}
        for name in names:
            count = int.from_bytes(stream.take(8), order)
            if count * wanted[name].kind.itemsize != wanted[name].nbytes:
                raise refused(
                    f"the storage {brief(name)} has {count} elements, and a tensor says "
                    f"{wanted[name].nbytes // wanted[name].kind.itemsize}"
                )
            found[name] = stream.position
            stream.skip(wanted[name].nbytes)
    return found
