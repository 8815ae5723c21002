"""What the caller of `load` asked for, and what all formats do with it."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import flambeau
from flambeau import UntypedStorage
from flambeau._values import brief
from flambeau.serialization import allowed, names, trusted
from flambeau.serialization.interpreter import Interpreter, Persistent
from flambeau.serialization.locations import Locator, whole
from flambeau.serialization.names import StorageType
from flambeau.serialization.problems import told_of
from flambeau.serialization.stream import Stream
from flambeau.serialization.tensors import Tensors, refused, whole_number

_LONGEST_KEY = 1000


@dataclass(frozen=True)
class Request:
    """The arguments of `load`, checked."""

    locator: Locator
    weights_only: bool
    mapping: bool | None
    encoding: str
    pickle_module: Any

    def unpickle(self, place: str, stream: Stream, persistent: Persistent, tensors: Tensors) -> Any:
        """The object of the pickle that begins here, by the interpreter or by Python."""
        if self.weights_only:
            find = partial(names.find, allowed=allowed.names())
            return Interpreter(place, stream, persistent, tensors, find, self.encoding).load()
        module = pickle if self.pickle_module is None else self.pickle_module
        try:
            return trusted.load(stream, persistent, tensors, self.encoding, module)
        except (pickle.UnpicklingError, EOFError):
            # Others come from what the file runs.
            with told_of(place):
                raise


@dataclass(slots=True)
class Reference:
    """What a pickle says of a storage outside of it."""

    kind: StorageType
    key: str
    location: Any
    nbytes: int
    view: tuple[str, int, int] | None  # of another storage: key, first byte, bytes

    @property
    def dtype(self) -> Any:
        return flambeau.uint8 if self.kind.dtype is None else self.kind.dtype


def reference(pid: Any, parts: tuple[int, ...]) -> Reference:
    """The storage that ("storage", type, key, location, number of elements[, view]) means.

    Raises:
        pickle.UnpicklingError: it means none, or has other than so many `parts`.
    """
    if type(pid) is tuple and pid and pid[0] in ("module", b"module"):
        raise refused(
            "a whole module with its code; a state_dict can be read, or weights_only=False"
        )
    if type(pid) is not tuple or len(pid) not in parts or pid[0] not in ("storage", b"storage"):
        raise refused(f"a reference to {brief(pid)}, which is no storage")
    _, kind, key, location, count, *rest = pid
    if not isinstance(kind, StorageType):
        raise refused(f"a storage of type {brief(kind)}")
    view = None
    if rest and rest[0] is not None:
        if type(rest[0]) is not tuple or len(rest[0]) != 3:
            raise refused(f"a storage that is a part {brief(rest[0])} of another")
        name, first, length = rest[0]
        first, length = (whole_number(n, "a part of a storage") for n in (first, length))
        view = key_text(name), first * kind.itemsize, length * kind.itemsize
    nbytes = whole_number(count, "the size of a storage") * kind.itemsize
    return Reference(kind, key_text(key), location, nbytes, view)


def key_text(key: Any) -> str:
    if type(key) not in (str, int, bytes):
        raise refused(f"a storage named {brief(key)}")
    if type(key) is not int and len(key) > _LONGEST_KEY:
        raise refused(f"a storage with a name of {len(key)} characters")
    return str(key, "ascii") if isinstance(key, bytes) else str(key)


def in_native_order(storage: UntypedStorage, kind: StorageType, order: str) -> UntypedStorage:
    """The storage of a file whose numbers have a byte order: that of this processor."""
    if order == sys.byteorder:
        return storage
    if kind.dtype is None:
        raise refused(f"{order}-endian bytes of unknown elements")
    size = kind.itemsize // 2 if kind.dtype.is_complex else kind.itemsize
    if size > 1:
        count = storage.nbytes() // size
        swapped = whole(storage).view(count, size).flip(1).reshape(-1)
        whole(storage).copy_(swapped)
    return storage
