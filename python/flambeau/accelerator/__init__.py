"""The accelerator of this machine, if there is one: CUDA.

Where there is none, questions are answered (`is_available()` is False, counts and memory are 0),
and what needs a device raises a RuntimeError.

    >>> from flambeau import accelerator
    >>> (accelerator.current_accelerator() is None) == (accelerator.device_count() == 0)
    True
    >>> accelerator.reset_peak_memory_stats()
    >>> accelerator.memory_allocated() <= accelerator.max_memory_allocated()
    True
    >>> accelerator.memory_reserved() <= accelerator.max_memory_reserved()
    True
    >>> accelerator.synchronize(), accelerator.empty_cache()  # nothing to do where there is none
    (None, None)

A thread has a current device, and one stream of it that work goes to:

    >>> if accelerator.is_available():
    ...     accelerator.set_device_idx(0)
    ...     with accelerator.device_index(accelerator.device_count() - 1):
    ...         assert accelerator.current_device_idx() == accelerator.device_count() - 1
    ...     stream = flambeau.Stream(accelerator.current_accelerator())
    ...     accelerator.set_stream(stream)
    ...     assert accelerator.current_stream() == stream
    >>> if not accelerator.is_available():
    ...     accelerator.current_stream()
    Traceback (most recent call last):
        ...
    RuntimeError: accelerator.current_stream(): there is no accelerator on this machine
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import flambeau
from flambeau import cuda

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]

device_count = cuda.device_count
empty_cache = cuda.empty_cache
is_available = cuda.is_available
max_memory_allocated = cuda.max_memory_allocated
max_memory_reserved = cuda.max_memory_reserved
memory_allocated = cuda.memory_allocated
memory_reserved = cuda.memory_reserved
reset_peak_memory_stats = cuda.reset_peak_memory_stats
synchronize = cuda.synchronize


def current_accelerator(check_available: bool = False) -> flambeau.device | None:
    """The kind of accelerator, device('cuda'); None where there is no device.

    Args:
        check_available: accepted: one that is not available is None anyway.
    """
    return flambeau.device("cuda") if cuda.is_available() else None


def get_device_module(device: flambeau.device | str | None = None) -> ModuleType:
    """The module of functions about a kind of device: `flambeau.cpu`, `flambeau.cuda`.

    Args:
        device: None: the accelerator of this machine, or else the CPU.

    Raises:
        RuntimeError: there is no such module.
    """
    kind = flambeau.device(device or current_accelerator() or "cpu").type
    found = getattr(flambeau, kind, None)
    if not isinstance(found, ModuleType):
        raise RuntimeError(f"get_device_module(): there is no module for the device '{kind}'")
    return found


def _need_device(op: str) -> None:
    if not cuda.is_available():
        raise RuntimeError(f"accelerator.{op}(): there is no accelerator on this machine")


def current_device_index() -> int:
    """The index of this thread's current device.

    Raises:
        RuntimeError: there is no accelerator.
    """
    _need_device("current_device_index")
    return cuda.current_device()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Bytes that are free on a device, and all that it has.

    Args:
        device_index: None: this thread's current device.

    Raises:
        RuntimeError: there is no accelerator.

    Example:
        >>> from flambeau import accelerator
        >>> if accelerator.is_available():
        ...     free, total = accelerator.get_memory_info()
        ...     assert free <= total
    """
    _need_device("get_memory_info")
    return cuda.mem_get_info(device_index)


def set_device_index(device: Any) -> None:
    """Makes a device the current one of this thread.

    Raises:
        RuntimeError: there is no accelerator.
    """
    _need_device("set_device_index")
    cuda.set_device(device)


current_device_idx = current_device_index
set_device_idx = set_device_index


def current_stream(device: Any = None) -> cuda.Stream:
    """The stream that work of a device goes to.

    Raises:
        RuntimeError: there is no accelerator.
    """
    _need_device("current_stream")
    return cuda.current_stream(device)


def set_stream(stream: cuda.Stream) -> None:
    """Sends work to a stream from now on."""
    cuda.set_stream(stream)


class device_index(cuda.device):
    """`with accelerator.device_index(1):` makes a device current for a while. None: no change."""
