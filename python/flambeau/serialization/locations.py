"""Where the storages of a file go: `map_location` in its forms."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import UntypedStorage
from flambeau._values import brief
from flambeau.serialization.tensors import refused

# A device or its name, a dict of names, a function of (storage, name of the device), None.
MapLocation = Any


def default_restore_location(storage: UntypedStorage, location: Any) -> UntypedStorage:
    """A storage where a file says that it was: what `load` does without `map_location`.

    Args:
        storage: on the CPU.
        location: the name of a device.

    Raises:
        pickle.UnpicklingError: there is no such device here.

    Example:
        >>> storage = flambeau.ones(2).untyped_storage()
        >>> flambeau.serialization.default_restore_location(storage, "cpu") is storage
        True
    """
    return _moved(storage, _device(location))


def location_tag(storage: UntypedStorage) -> str:
    """What a file says of where a storage is.

    Example:
        >>> flambeau.serialization.location_tag(flambeau.ones(2).untyped_storage())
        'cpu'
    """
    return str(storage.device)


class Locator:
    """Places storages as `map_location` says."""

    def __init__(self, map_location: MapLocation) -> None:
        if isinstance(map_location, bytes):
            map_location = os.fsdecode(map_location)
        if isinstance(map_location, str):
            map_location = flambeau.device(map_location)
        known = map_location is None or isinstance(map_location, flambeau.device | dict)
        if not known and not callable(map_location):
            raise TypeError(
                "load: map_location must be a device, its name, a dict of names or a function, got "
                f"{type(map_location).__name__}"
            )
        self._wanted = map_location

    def place(self, nbytes: int, location: Any, read: Callable[[], UntypedStorage]) -> Any:
        """A storage that was on the device `location`, where it is to be now.

        Args:
            nbytes: its size.
            location: the device in the file.
            read: gives it, on the CPU; not called when nothing would be kept.
        """
        if isinstance(location, bytes):  # of Python 2
            location = str(location, "ascii")
        if type(location) is not str:
            raise refused(f"a storage on the device {brief(location)}")
        wanted = self._wanted
        if callable(wanted):
            storage = read()
            moved = wanted(storage, location)
            if moved is not None and not isinstance(moved, UntypedStorage):
                raise TypeError(
                    f"map_location must return a storage or None, and returned {brief(moved)}"
                )
            return _moved(storage, _device(location)) if moved is None else moved
        if isinstance(wanted, dict):
            wanted = wanted.get(location, location)
        device = _device(location) if wanted is None else _device(wanted)
        if device.type == "meta":
            return flambeau.empty(nbytes, dtype=flambeau.uint8, device=device).untyped_storage()
        return _moved(read(), device)


def _device(location: Any) -> flambeau.device:
    if isinstance(location, flambeau.device):
        return location
    try:
        return flambeau.device(location)
    except (RuntimeError, TypeError) as error:
        raise refused(
            f"a storage on the device {brief(location)}: {error}; map_location says where it goes"
        ) from error


def whole(storage: UntypedStorage) -> flambeau.Tensor:
    """All bytes of a storage."""
    return storage._view(flambeau.uint8, 0, (storage.nbytes(),), (1,))


def _moved(storage: UntypedStorage, device: flambeau.device) -> UntypedStorage:
    if storage.device.type == device.type == "cpu":
        return storage
    try:
        return whole(storage).to(device).untyped_storage()
    except RuntimeError as error:
        raise refused(
            f"a storage for the device {device}: {error}; map_location='cpu' loads it to the CPU"
        ) from error
