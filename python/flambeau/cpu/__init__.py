# mypy: implicit-reexport
"""The CPU as a device: memory statistics of its allocator, streams that are empty."""

from __future__ import annotations

from typing import Any

from flambeau import _C
from flambeau.cpu.capabilities import get_capabilities
from flambeau.cpu.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    set_device,
    stream,
)

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_capabilities",
    "get_capability",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_cache_limit",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """True.

    Example:
        >>> flambeau.cpu.is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """True: there is nothing to do before the CPU is used.

    Example:
        >>> flambeau.cpu.is_initialized()
        True
    """
    return True


def device_count() -> int:
    """1: the CPU is one device.

    Example:
        >>> flambeau.cpu.device_count()
        1
    """
    return 1


def current_device() -> str:
    """The name of the device: "cpu".

    Example:
        >>> flambeau.cpu.current_device()
        'cpu'
    """
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Returns at once: operations on the CPU are finished when they return.

    Args:
        device: accepted: there is one.

    Example:
        >>> flambeau.cpu.synchronize()
    """


def get_capability() -> str:
    """The instruction set that loops use: "baseline", "avx2" or "avx512".

    Example:
        >>> flambeau.cpu.get_capability() in ("baseline", "avx2", "avx512")
        True
    """
    return str(_C._cpu_capability())


def memory_stats() -> dict[str, int]:
    """Bytes handed out and held now and at their peak, and how often memory was asked for.

    Example:
        >>> all(isinstance(count, int) for count in flambeau.cpu.memory_stats().values())
        True
    """
    return dict(_C.memory_stats("cpu"))


def memory_allocated() -> int:
    """Bytes that tensors hold.

    Example:
        >>> before = flambeau.cpu.memory_allocated()
        >>> x = flambeau.ones(1_000_000)
        >>> flambeau.cpu.memory_allocated() - before >= 4_000_000
        True
    """
    return memory_stats()["allocated_bytes"]


def max_memory_allocated() -> int:
    """The most bytes that tensors held since reset_peak_memory_stats().

    Example:
        >>> flambeau.cpu.max_memory_allocated() >= flambeau.cpu.memory_allocated()
        True
    """
    return memory_stats()["peak_allocated_bytes"]


def memory_reserved() -> int:
    """Bytes taken from the system, cached ones included.

    Example:
        >>> flambeau.cpu.memory_reserved() >= 0
        True
    """
    return memory_stats()["reserved_bytes"]


def max_memory_reserved() -> int:
    """The most bytes taken from the system since reset_peak_memory_stats().

    Example:
        >>> flambeau.cpu.max_memory_reserved() >= flambeau.cpu.memory_reserved()
        True
    """
    return memory_stats()["peak_reserved_bytes"]


def reset_peak_memory_stats() -> None:
    """Starts the peaks over.

    Example:
        >>> flambeau.cpu.reset_peak_memory_stats()
        >>> flambeau.cpu.max_memory_allocated() >= flambeau.cpu.memory_allocated()
        True
    """
    _C.reset_peak_memory_stats("cpu")


def empty_cache() -> None:
    """Gives cached memory back to the system.

    Example:
        >>> flambeau.cpu.empty_cache()
    """
    _C.empty_cache("cpu")


def set_cache_limit(size: int) -> None:
    """How many freed bytes the allocator may keep for reuse.

    Without it, a quarter of the machine's memory, of that of the process's control group (a
    container), or of the limit on its address space, whichever is least.

    Args:
        size: in bytes.

    Example:
        >>> flambeau.cpu.set_cache_limit(1 << 30)  # a gigabyte
        >>> flambeau.cpu.empty_cache()
        >>> kept = flambeau.cpu.memory_reserved() - flambeau.cpu.memory_allocated()
        >>> kept <= 1 << 30
        True
    """
    _C.set_cpu_cache_limit(size)
