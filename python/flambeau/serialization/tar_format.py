"""The two formats of torch.save in 2016: tar archives of `storages`, `tensors` and `pickle`.

`storages` and `tensors` are each a count and so many records: a pickle, then binary data. The
record of a storage is (key, type) or, later, (key, device, type), then its elements behind their
number in 64 bits; later a list of storages that are parts of others follows. That of a tensor is
(key, type, storage key) or, later, (key, storage key, type), then the number of dims in 32 bits,
4 bytes without meaning, sizes, strides and offset in 64 bits. `pickle` refers to both by key.
"""

from __future__ import annotations

from struct import unpack
from typing import Any

import flambeau
from flambeau import _C, UntypedStorage
from flambeau._values import brief
from flambeau.serialization.interpreter import Interpreter
from flambeau.serialization.names import Named, StorageType
from flambeau.serialization.problems import UnreadableFileError, told_of
from flambeau.serialization.request import Request, in_native_order
from flambeau.serialization.source import Source
from flambeau.serialization.stream import Stream
from flambeau.serialization.tensors import Tensors, refused, whole_number

BLOCK = 512  # bytes of a header, and what contents fill up to
_FILE = (b"0", b"\0")  # kinds of entries


def begins(source: Source) -> bool:
    """Whether the file is a tar archive."""
    return source.size >= 2 * BLOCK and source.read(257, 5) == b"ustar"


def load(source: Source, request: Request) -> Any:
    """What the archive holds."""
    if request.mapping:
        raise UnreadableFileError(
            source.name, "mmap=True needs a file in the zip format; this one is a tar archive"
        )
    return _Archive(source, request).load()


def members(source: Source) -> dict[str, tuple[int, int]]:
    """Where the content of each entry begins and ends."""
    found: dict[str, tuple[int, int]] = {}
    at = 0
    while at + BLOCK <= source.size:
        header = source.read(at, BLOCK)
        if not any(header):
            break
        with told_of(f"{source.name}, the tar header at byte {at}"):
            name, size, is_file = read_header(header)
            begin = at + BLOCK
            if begin + size > source.size:
                raise refused(f"'{name}' has {size} bytes, more than follow")
            if is_file:
                if name in found:
                    raise refused(f"there are two entries '{name}'")
                found[name] = (begin, begin + size)
        at = begin + filled(size)
    source.end = min(at + 2 * BLOCK, source.size)
    return found


def read_header(header: bytes) -> tuple[str, int, bool]:
    """Of an entry: its name, the bytes that follow, whether it is a plain file.

    Raises:
        pickle.UnpicklingError: the header is damaged.
    """
    name = header[:100].rstrip(b"\0").decode("utf-8", "replace")
    said = int(header[148:156].rstrip(b"\0 ") or b"0", 8)
    size = int(header[124:136].rstrip(b"\0 ") or b"0", 8)
    if said != sum(header[:148]) + 8 * 32 + sum(header[156:]) or size < 0:
        raise refused("it is damaged: its checksum is wrong")
    return name, size, header[156:157] in _FILE


def filled(size: int) -> int:
    """What a content of so many bytes takes."""
    return (size + BLOCK - 1) // BLOCK * BLOCK


class _Archive:
    """An archive while it is read."""

    def __init__(self, source: Source, request: Request) -> None:
        self._source = source
        self._request = request
        self._tensors = Tensors()
        self._objects: dict[str, Any] = {}  # storages and tensors by key
        self._places = members(source)

    def load(self) -> Any:
        self._storages()
        self._read_tensors()
        place, stream = self._member("pickle")
        return self._request.unpickle(place, stream, self._persistent, self._tensors)

    def _member(self, name: str) -> tuple[str, Stream]:
        if name not in self._places:
            raise UnreadableFileError(
                f"{self._source.name} is a tar archive, but none of torch.save: it has no '{name}'"
            )
        return f"{self._source.name}, entry '{name}'", Stream(
            self._source.read, *self._places[name]
        )

    def _storages(self) -> None:
        place, stream = self._member("storages")
        plain = Interpreter(place, stream)
        for _ in self._count(place, plain, stream):
            record = plain.load(with_names=True)
            with told_of(place):
                self._storage(record, stream)
        if stream.left:
            views = plain.load()
            with told_of(place):
                for view in views:
                    self._view(view)

    def _count(self, place: str, plain: Interpreter, stream: Stream) -> range:
        count = plain.load()
        with told_of(place):
            if whole_number(count, "the number of records") > stream.left:
                raise refused(f"{count} records are to follow in {stream.left} bytes")
        return range(count)

    def _storage(self, record: Any, stream: Stream) -> None:
        if type(record) is not tuple or len(record) not in (2, 3):
            raise refused(f"{brief(record)} describes no storage")
        key, kind = record[0], record[-1]
        location = record[1] if len(record) == 3 else "cpu"
        if not isinstance(kind, StorageType) or kind.dtype is None:
            raise refused(f"a storage of type {brief(kind)}")
        nbytes = int.from_bytes(stream.take(8), "little") * kind.itemsize
        offset = stream.position
        stream.skip(nbytes)
        storage = self._request.locator.place(
            nbytes,
            location,
            lambda: in_native_order(self._source.storage(offset, nbytes)[0], kind, "little"),
        )
        self._keep(key, self._tensors.add(storage, kind.dtype))

    def _view(self, view: Any) -> None:
        if type(view) is not tuple or len(view) != 4:
            raise refused(f"{brief(view)} describes no part of a storage")
        key, root_key, first, count = view
        root = self._object(root_key)
        dtype = self._tensors.dtype_of(root)
        first = whole_number(first, "the begin of a part") * dtype.itemsize
        nbytes = whole_number(count, "the size of a part") * dtype.itemsize
        try:
            part = _C._storage_part(root, first, nbytes)
        except ValueError as error:
            raise refused(str(error)) from error
        self._keep(key, self._tensors.add(part, dtype))

    def _read_tensors(self) -> None:
        place, stream = self._member("tensors")
        plain = Interpreter(place, stream)
        for _ in self._count(place, plain, stream):
            record = plain.load(with_names=True)
            with told_of(place):
                if type(record) is not tuple or len(record) != 3:
                    raise refused(f"{brief(record)} describes no tensor")
                key, second, third = record
                named = isinstance(second, Named)
                self._keep(
                    key,
                    self._tensor(third if named else second, second if named else third, stream),
                )

    def _tensor(self, storage_key: Any, kind: Any, stream: Stream) -> Any:
        (dims,) = unpack("<i", stream.take(4))
        stream.skip(4)
        if not 0 <= dims <= 64:
            raise refused(f"a tensor of {dims} dims")
        *geometry, offset = unpack(f"<{2 * dims + 1}q", stream.take(8 * (2 * dims + 1)))
        if storage_key is None or dims == 0:
            # There were no scalars: no dims meant no elements.
            make = getattr(kind, "make", None)
            if make is None:
                raise refused(f"a tensor of type {brief(kind)}")
            return make(None)
        storage: UntypedStorage = self._object(storage_key)
        return self._tensors.rebuild_tensor(storage, offset, geometry[:dims], geometry[dims:])

    def _keep(self, key: Any, value: UntypedStorage | flambeau.Tensor) -> None:
        if type(key) not in (int, str):
            raise refused(f"an object named {brief(key)}")
        self._objects[str(key)] = value

    def _object(self, key: Any) -> Any:
        if type(key) not in (int, str) or str(key) not in self._objects:
            raise refused(f"{brief(key)} names no storage and no tensor of the file")
        return self._objects[str(key)]

    def _persistent(self, pid: Any) -> Any:
        if type(pid) is tuple and pid:
            if self._request.weights_only:
                raise refused(
                    "a whole module with its code; a state_dict can be read, or weights_only=False"
                )
            return pid[0]
        return self._object(str(pid, "ascii") if isinstance(pid, bytes) else pid)
