"""Where the storages of a file go: `map_location` in its forms."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import UntypedStorage
from flambeau._values import brief
from flambeau.serialization import skipping
from flambeau.serialization.tensors import refused

# A device or its name, a dict of names, a function of (storage, name of the device), None.
MapLocation = Any


Tagger = Callable[[UntypedStorage], str | None]
Restorer = Callable[[UntypedStorage, str], UntypedStorage | None]

# By their priorities, those of one in the order in which they came.
_packages: list[tuple[int, Tagger, Restorer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Restorer) -> None:
    """Says what files call the place of a storage, and where storages of a place go.

    Args:
        priority: the lower, the sooner it is asked; the library's own answers have 10 for the CPU
            and 20 for other devices.
        tagger: gives the name for a storage that is saved; None: another one knows it.
        deserializer: gives the storage that is loaded, of one on the CPU and the name of its
            place; None: another one knows it.

    Raises:
        TypeError: if `priority` is no number, or one of the others cannot be called.

    Example:
        >>> from flambeau.serialization import location_tag, register_package
        >>> noted = flambeau.ones(1).untyped_storage()
        >>> def tagger(storage, noted=noted):
        ...     return "notebook" if storage.data_ptr() == noted.data_ptr() else None
        >>> register_package(5, tagger, lambda storage, place: None)
        >>> location_tag(noted)
        'notebook'
        >>> location_tag(flambeau.ones(2).untyped_storage())
        'cpu'
    """
    if not isinstance(priority, int):
        raise TypeError(f"register_package(): priority must be a number, got {brief(priority)}")
    for name, given in (("tagger", tagger), ("deserializer", deserializer)):
        if not callable(given):
            raise TypeError(f"register_package(): {name} must be a function, got {brief(given)}")
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def _own_priority(device: str) -> int:
    return 10 if device == "cpu" else 20


def _restored(storage: UntypedStorage, location: str) -> UntypedStorage:
    """A storage where its place says: what was registered is asked, and the library in its turn."""
    own = _own_priority(location)
    is_asked = False
    for priority, _, deserializer in _packages:
        if priority >= own and not is_asked and _is_known(location):
            break
        is_asked = is_asked or priority >= own
        found = deserializer(storage, location)
        if found is not None:
            if not isinstance(found, UntypedStorage):
                raise TypeError(
                    "register_package: a deserializer must return a storage or None, and returned "
                    f"{brief(found)}"
                )
            return found
    return _moved(storage, _device(location))


def _is_known(location: str) -> bool:
    try:
        flambeau.device(location)
    except (RuntimeError, TypeError):
        return False
    return True


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
    if isinstance(location, str):
        return _restored(storage, location)
    return _moved(storage, _device(location))


def location_tag(storage: UntypedStorage) -> str:
    """What a file says of where a storage is.

    Example:
        >>> flambeau.serialization.location_tag(flambeau.ones(2).untyped_storage())
        'cpu'
    """
    own = str(storage.device)
    for priority, tagger, _ in _packages:
        if priority >= _own_priority(own):
            break
        name = tagger(storage)
        if name is not None:
            return str(name)
    return own


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
        if skipping.active():
            read = functools.partial(skipping.nothing, nbytes)
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
            return _restored(storage, location) if moved is None else moved
        if isinstance(wanted, dict):
            wanted = wanted.get(location, location)
        place = location if wanted is None else str(wanted)
        if _packages and place != "meta":
            return _restored(read(), place)
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
