"""Methods of UntypedStorage that are written in Python: its bytes by number, and files as memory.

Importing this module attaches them to the compiled type.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import flambeau
from flambeau import _C
from flambeau._C import UntypedStorage
from flambeau._values import brief


def _getitem(self: UntypedStorage, index: Any) -> Any:
    """A byte as an int; a slice without steps as a storage that shares the memory."""
    if isinstance(index, slice):
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise ValueError(f"UntypedStorage: slices have a step of 1, got {step}")
        return _C._storage_part(self, start, max(stop - start, 0))
    if not isinstance(index, int):
        raise TypeError(f"UntypedStorage: expected an int or a slice, got {brief(index)}")
    size = self.nbytes()
    if not -size <= index < size:
        raise IndexError(f"UntypedStorage: byte {index} of {size}")
    return self._view(_C.uint8, index % size, [1], [1]).item()


def _tolist(self: UntypedStorage) -> list[int]:
    """The bytes as ints."""
    size = self.nbytes()
    return self._view(_C.uint8, 0, [size], [1]).tolist()


def _untyped(self: UntypedStorage) -> UntypedStorage:
    """The storage itself, which is bytes."""
    return self


def from_file(
    filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0
) -> UntypedStorage:
    """The beginning of a file as memory, read when it is touched.

    Args:
        filename: the file.
        shared: whether writes go to the file, which is made, or made longer, where need be.
        nbytes: how much of it.

    Raises:
        OSError: the file cannot be opened.
        RuntimeError: it is shorter, and not shared.
    """
    if shared:
        import numpy as np

        with open(filename, "ab") as file:
            if file.tell() < nbytes:
                file.truncate(nbytes)
        mapped = np.memmap(filename, np.uint8, "r+", shape=(nbytes,))
        return flambeau.from_numpy(mapped).untyped_storage()
    with open(filename, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < nbytes:
            raise RuntimeError(f"from_file(): {filename} has {size} bytes, fewer than {nbytes}")
        return _C._map_file(file.fileno(), nbytes)


F = TypeVar("F", bound=Callable[..., Any])


def _method(function: F) -> F:
    """Makes a function a method of storages."""
    setattr(UntypedStorage, function.__name__, function)
    return function


def _bytes(self: UntypedStorage) -> flambeau.Tensor:
    return self._view(_C.uint8, 0, [self.nbytes()], [1])


@_method
def fill_(self: UntypedStorage, value: int) -> UntypedStorage:
    """Sets all bytes; returns self."""
    _bytes(self).fill_(value)
    return self


@_method
def copy_(self: UntypedStorage, source: UntypedStorage, non_blocking: bool = False) -> Any:
    """Takes over the bytes of a storage of the same size; returns self.

    Raises:
        RuntimeError: the sizes differ.
    """
    if self.nbytes() != source.nbytes():
        raise RuntimeError(
            f"UntypedStorage.copy_(): expected {self.nbytes()} bytes, got {source.nbytes()}"
        )
    _bytes(self).copy_(_bytes(source))
    return self


@_method
def element_size(self: UntypedStorage) -> int:
    """1, as its elements are bytes."""
    return 1


@_method
def cpu(self: UntypedStorage) -> UntypedStorage:
    """The bytes in the CPU's memory; itself if they are there."""
    return _bytes(self).cpu().untyped_storage() if self.device.type != "cpu" else self


@_method
def get_device(self: UntypedStorage) -> int | None:
    """The index of its device; None: the CPU."""
    return self.device.index


_MEMBERS: dict[str, Any] = {
    "is_cuda": property(lambda self: self.device.type == "cuda", doc="Whether CUDA's memory."),
    "__getitem__": _getitem,
    "tolist": _tolist,
    "untyped": _untyped,
    "from_file": staticmethod(from_file),
}

for _name, _member in _MEMBERS.items():
    setattr(UntypedStorage, _name, _member)
