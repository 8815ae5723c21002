"""The format of `save`, which is PyTorch's since 1.6: a zip archive.

`NAME/data.pkl` is a pickle in which tensors refer to storages, `NAME/data/KEY` the bytes of each,
`NAME/byteorder` says how numbers are written. NAME is anything. Format 1 of this library, which it
wrote before, has other names and references.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import UntypedStorage
from flambeau._values import brief
from flambeau.serialization.problems import UnreadableFileError
from flambeau.serialization.request import Request, in_native_order, reference
from flambeau.serialization.source import Source
from flambeau.serialization.stream import Stream
from flambeau.serialization.tensors import Tensors, refused, whole_number
from flambeau.serialization.zip_reader import ZipReader

_FIRST_VERSION, _FIRST_PICKLE = "flambeau/version", "flambeau/structure.pkl"
_FORMAT = 1


def load(source: Source, request: Request) -> Any:
    """What an archive holds."""
    archive = ZipReader(source, bool(request.mapping))
    source.end = source.size
    name = find_pickle(archive, source.name)
    if name == _FIRST_PICKLE:
        return _load_first(archive, request)
    prefix = name.removesuffix("data.pkl")
    if f"{prefix}constants.pkl" in archive.entries:
        raise UnreadableFileError(
            f"{source.name} is a TorchScript archive, a program; only files of torch.save are read"
        )
    if _record(archive, f"{prefix}.format_version", str(_FORMAT)) != str(_FORMAT):
        raise UnreadableFileError(source.name, "it has a later format than this library reads")
    return _load(archive, prefix, request)


def find_pickle(archive: ZipReader, place: str) -> str:
    """The entry that holds the object.

    Raises:
        RuntimeError: there is none, or more than one.
    """
    if _FIRST_PICKLE in archive.entries:
        return _FIRST_PICKLE
    names = [name for name in archive.entries if name.partition("/")[2] == "data.pkl"]
    if len(names) != 1:
        raise UnreadableFileError(
            f"{place} is a zip file, but none of flambeau.save or torch.save: it has "
            f"{len(names) or 'no'} entries NAME/data.pkl"
        )
    return names[0]


def _record(archive: ZipReader, name: str, otherwise: str) -> str:
    if name not in archive.entries:
        return otherwise
    return str(archive.read(name), "ascii", "replace").strip()


def _load(archive: ZipReader, prefix: str, request: Request) -> Any:
    order = _record(archive, f"{prefix}byteorder", "little")
    if order not in ("little", "big"):
        raise UnreadableFileError(archive.place(f"{prefix}byteorder"), f"it is {brief(order)}")
    tensors = Tensors()
    storages: dict[str, UntypedStorage] = {}

    def persistent(pid: Any) -> UntypedStorage:
        wanted = reference(pid, (5,))
        name = f"{prefix}data/{wanted.key}"
        if archive.size(name) != wanted.nbytes:
            raise refused(
                f"a storage of {wanted.nbytes} bytes, and the entry '{name}' has "
                f"{archive.size(name)}"
            )
        if wanted.key not in storages:
            storages[wanted.key] = request.locator.place(
                wanted.nbytes,
                wanted.location,
                lambda: in_native_order(archive.storage(name), wanted.kind, order),
            )
        return tensors.add(storages[wanted.key], wanted.dtype)

    return _unpickled(archive, f"{prefix}data.pkl", request, persistent, tensors)


def _unpickled(
    archive: ZipReader, name: str, request: Request, persistent: Any, tensors: Tensors
) -> Any:
    content = archive.read(name)
    return request.unpickle(archive.place(name), Stream.over(content), persistent, tensors)


def _load_first(archive: ZipReader, request: Request) -> Any:
    """Format 1: references are ("storage", number, device), and tensors name their dtype."""
    version = _record(archive, _FIRST_VERSION, "")
    if version != "1":
        raise UnreadableFileError(
            archive.place(_FIRST_VERSION), f"it is {brief(version)}, and this library reads 1"
        )
    tensors = Tensors()
    storages: dict[int, UntypedStorage] = {}

    def persistent(pid: Any) -> UntypedStorage:
        if type(pid) is not tuple or len(pid) != 3 or pid[0] != "storage":
            raise refused(f"a reference to {brief(pid)}, which is no storage")
        number = whole_number(pid[1], "the number of a storage")
        if number not in storages:
            name = f"flambeau/storages/{number}"
            nbytes = archive.size(name)
            placed = request.locator.place(nbytes, pid[2], lambda: archive.storage(name))
            storages[number] = tensors.add(placed, flambeau.uint8)
        return storages[number]

    return _unpickled(archive, _FIRST_PICKLE, request, persistent, tensors)
