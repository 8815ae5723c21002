"""Saving objects with tensors to a file, and loading them without running code from the file.

A file is a zip archive: `flambeau/version`, `flambeau/structure.pkl` (a pickle in which tensors
refer to storages) and `flambeau/storages/N` (raw bytes, native little endian). A storage shared by
several tensors is written once, so that views stay views.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import flambeau
from flambeau import Tensor, UntypedStorage
from flambeau._values import brief

if TYPE_CHECKING:
    import zipfile

FORMAT_VERSION = 1
_VERSION, _STRUCTURE, _STORAGES = "flambeau/version", "flambeau/structure.pkl", "flambeau/storages"

File = str | os.PathLike[str] | IO[bytes]
MapLocation = Any

# What a file may name besides tensors. Everything here only builds data.
_SAFE: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("builtins", "complex"): complex,
    ("builtins", "slice"): slice,
    ("builtins", "range"): range,
    ("builtins", "bytearray"): bytearray,
}
_user_safe: list[Any] = []


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Allows classes and functions in files that `load` reads with `weights_only=True`."""
    _user_safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has allowed."""
    return list(_user_safe)


def clear_safe_globals() -> None:
    """Takes back every `add_safe_globals`."""
    _user_safe.clear()


@contextlib.contextmanager
def safe_globals(allowed: Sequence[Any]) -> Iterator[None]:
    """Allows classes and functions inside a `with` block."""
    count = len(_user_safe)
    _user_safe.extend(allowed)
    try:
        yield
    finally:
        del _user_safe[count : count + len(allowed)]


def save(obj: Any, f: File, pickle_protocol: int = 4) -> None:
    """Writes an object with its tensors.

    Args:
        obj: tensors, parameters, containers of them, anything that pickles.
        f: a path, or a binary file open for writing.
        pickle_protocol: of the part that is not tensor data.
    """
    import zipfile  # here: it costs the import of flambeau a fifth of its time

    structure = io.BytesIO()
    pickler = _Pickler(structure, pickle_protocol)
    pickler.dump(obj)
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_VERSION, str(FORMAT_VERSION))
        archive.writestr(_STRUCTURE, structure.getvalue())
        for number, storage in enumerate(pickler.storages):
            with archive.open(f"{_STORAGES}/{number}", "w", force_zip64=True) as member:
                member.write(_bytes_of(storage))


def load(f: File, map_location: MapLocation = None, *, weights_only: bool = True) -> Any:
    """Reads what `save` wrote.

    Args:
        f: a path, or a binary file open for reading and seeking.
        map_location: where tensors go: a device or its name, a dict of device names, or a function
            of (storage, device name) that returns a storage or None; None: where they were.
        weights_only: refuse files that name anything but tensors, containers and numbers (and what
            `add_safe_globals` allows). False runs whatever the file says: for trusted files only.

    Raises:
        pickle.UnpicklingError: the file names something that is not allowed.
        RuntimeError: the file is not one that `save` writes.
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _load(file, map_location, weights_only)
    return _load(f, map_location, weights_only)


def _load(f: IO[bytes], map_location: MapLocation, weights_only: bool) -> Any:
    import zipfile

    if not zipfile.is_zipfile(f):
        raise RuntimeError(f"load: {_described(f)} is not a file written by flambeau.save")
    f.seek(0)
    with zipfile.ZipFile(f) as archive:
        names = set(archive.namelist())
        if _VERSION not in names:
            raise RuntimeError(f"load: {_described(f)} is a zip file, but none of flambeau.save")
        version = int(archive.read(_VERSION))
        if version > FORMAT_VERSION:
            raise RuntimeError(
                f"load: {_described(f)} has format {version}; this version of flambeau reads "
                f"formats up to {FORMAT_VERSION}"
            )
        structure = io.BytesIO(archive.read(_STRUCTURE))
        kind = _SafeUnpickler if weights_only else _Unpickler
        return kind(structure, archive, map_location).load()


def _described(f: IO[bytes]) -> str:
    name = getattr(f, "name", None)
    return f"'{name}'" if isinstance(name, str | os.PathLike) else "the file object"


def _bytes_of(storage: UntypedStorage) -> Any:
    on_cpu = storage._view(flambeau.uint8, 0, [storage.nbytes()], [1]).cpu()
    storage_on_cpu: Any = on_cpu.untyped_storage()
    return memoryview(storage_on_cpu) if on_cpu.numel() else b""


def _rebuild_tensor(
    storage: UntypedStorage,
    dtype: Any,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
) -> Tensor:
    tensor = storage._view(dtype, offset, size, stride)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_parameter(data: Tensor, requires_grad: bool) -> Tensor:
    return flambeau.nn.Parameter(data, requires_grad)


def _rebuild_buffer(data: Tensor, persistent: bool) -> Tensor:
    return flambeau.nn.Buffer(data, persistent=persistent)


class _Pickler(pickle.Pickler):
    """Takes the bytes of storages out of the pickle."""

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: list[UntypedStorage] = []
        self._numbers: dict[tuple[int, str], int] = {}

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, UntypedStorage):
            return None
        address, device = obj.data_ptr(), str(obj.device)
        number = self._numbers.get((address, device)) if address else None
        if number is None:
            number = len(self.storages)
            self.storages.append(obj)
            self._numbers[address, device] = number
        return ("storage", number, device)

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, Tensor):
            return NotImplemented
        kind = type(obj)
        if kind is Tensor:
            return _rebuild_tensor, (
                obj.untyped_storage(),
                obj.dtype,
                obj.storage_offset(),
                tuple(obj.shape),
                tuple(obj.stride()),
                obj.requires_grad,
            )
        if kind is flambeau.nn.Parameter:
            return _rebuild_parameter, (obj.detach(), obj.requires_grad)
        if kind is flambeau.nn.Buffer and isinstance(obj, flambeau.nn.Buffer):
            return _rebuild_buffer, (obj.detach(), obj.persistent)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    """Puts the storages back."""

    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile, location: MapLocation) -> None:
        super().__init__(file)
        self._archive = archive
        self._location = location
        self._storages: dict[int, UntypedStorage] = {}

    def persistent_load(self, pid: Any) -> UntypedStorage:
        if not (isinstance(pid, tuple) and len(pid) == 3 and pid[0] == "storage"):
            raise pickle.UnpicklingError(f"load: unknown reference {brief(pid)}")
        _, number, device = pid
        storage = self._storages.get(number)
        if storage is None:
            storage = self._storages[number] = self._read(f"{_STORAGES}/{number:d}", device)
        return storage

    def _read(self, name: str, device: str) -> UntypedStorage:
        content = bytearray(self._archive.getinfo(name).file_size)
        with self._archive.open(name) as member:
            filled = 0
            window = memoryview(content)
            while filled < len(content):
                count = member.readinto(window[filled:])  # type: ignore[attr-defined]
                if not count:
                    raise RuntimeError(f"load: '{name}' ends after {filled} bytes")
                filled += count
            if not content:
                member.read()
        return _located(content, device, self._location)


class _SafeUnpickler(_Unpickler):
    """Finds nothing that could run code."""

    def find_class(self, module: str, name: str) -> Any:
        found = _SAFE.get((module, name))
        if found is not None:
            return found
        if module.partition(".")[0] == "flambeau":
            if module in ("flambeau", "flambeau._C"):
                value = getattr(flambeau, name, None)
                if isinstance(value, flambeau.dtype) or name in ("Size", "device"):
                    return value
            if module == __name__ and name in _BUILDERS:
                return _BUILDERS[name]
        for allowed in _user_safe:
            if (allowed.__module__, allowed.__qualname__) == (module, name):
                return allowed
        raise pickle.UnpicklingError(
            f"load: the file names {module}.{name}, which weights_only=True refuses. If you trust "
            "the file, allow the name with flambeau.serialization.add_safe_globals, or load it "
            "with weights_only=False (then the file can run any code)"
        )


_BUILDERS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (_rebuild_tensor, _rebuild_parameter, _rebuild_buffer)
}


def _restore(content: bytearray, device: Any) -> UntypedStorage:
    storage: Any = UntypedStorage
    return storage._restore(content, device)


def _located(content: bytearray, device: str, location: MapLocation) -> UntypedStorage:
    """A storage of these bytes on the device that map_location asks for."""
    if location is None:
        return _restore(content, flambeau.device(device))
    if isinstance(location, dict):
        return _restore(content, flambeau.device(location.get(device, device)))
    if callable(location):
        storage = _restore(content, flambeau.device("cpu"))
        moved = location(storage, device)
        return _located(content, device, None) if moved is None else moved
    return _restore(content, flambeau.device(location))
