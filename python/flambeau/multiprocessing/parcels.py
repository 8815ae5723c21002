"""Messages between processes: a pickle, and the descriptors of the memory that it speaks of.

What is pickled inside `pack` names descriptors by their number in the parcel. They travel with the
message, in the system's hands: no process needs to be asked for them, and a message that nobody
reads leaves nothing behind.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any


class Parcel:
    """A message that is packed, or has arrived: its pickle and its descriptors."""

    __slots__ = ("_numbers", "_owners", "data", "descriptors")

    def __init__(self, data: Any, descriptors: list[int]) -> None:
        self.data = data
        self.descriptors = descriptors
        self._numbers: dict[int, int] = {}
        self._owners: list[Any] = []  # keep the descriptors open until the parcel is sent

    def add(self, descriptor: int, owner: Any) -> int:
        """The number of a descriptor in this parcel."""
        self._owners.append(owner)
        number = self._numbers.setdefault(descriptor, len(self.descriptors))
        if number == len(self.descriptors):
            self.descriptors.append(descriptor)
        return number


class _Current(threading.local):
    packing: Parcel | None = None
    unpacking: Sequence[int] | None = None


_current = _Current()


def packing() -> Parcel | None:
    """The parcel that this thread packs; None: what it pickles goes another way."""
    return _current.packing


def arrived(number: int) -> int:
    """A descriptor of the parcel that this thread unpacks."""
    if _current.unpacking is None:
        raise RuntimeError(
            "a tensor that was pickled for one channel has come through another: its memory is not "
            "in the message"
        )
    return _current.unpacking[number]


def pack(obj: Any, dumps: Callable[[Any], Any] = ForkingPickler.dumps) -> Parcel:
    """An object as a message; the memory of its tensors is shared from now on."""
    outer, parcel = _current.packing, Parcel(b"", [])
    _current.packing = parcel
    try:
        parcel.data = dumps(obj)
    finally:
        _current.packing = outer
    return parcel


def unpack(parcel: Parcel, loads: Callable[[Any], Any] = pickle.loads) -> Any:
    """The object of a message that has arrived. Closes its descriptors."""
    outer = _current.unpacking
    _current.unpacking = parcel.descriptors
    try:
        return loads(parcel.data)
    finally:
        _current.unpacking = outer
        for descriptor in parcel.descriptors:
            os.close(descriptor)
