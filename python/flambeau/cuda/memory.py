"""Memory of devices: what the allocator holds, in words; blocks by address; former names."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import flambeau
from flambeau import cuda
from flambeau._values import brief

__all__ = ["caching_allocator_alloc", "caching_allocator_delete", "caching_allocator_enable"]
__all__ += ["get_allocator_backend", "get_per_process_memory_fraction", "host_memory_stats"]
__all__ += ["max_memory_cached", "memory_cached", "memory_summary"]
__all__ += ["reset_accumulated_host_memory_stats", "reset_accumulated_memory_stats"]
__all__ += ["reset_max_memory_allocated", "reset_max_memory_cached"]
__all__ += ["reset_peak_host_memory_stats", "set_per_process_memory_fraction"]

_WORDS = (
    ("bytes of tensors", "allocated_bytes"),
    ("most bytes of tensors", "peak_allocated_bytes"),
    ("bytes taken from the device", "reserved_bytes"),
    ("most bytes taken from the device", "peak_reserved_bytes"),
    ("times that memory was asked for", "allocations"),
    ("times that the device was asked", "system_allocations"),
)
_blocks: dict[int, flambeau.Tensor] = {}  # what caching_allocator_alloc gave away


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of what `memory_stats` says of a device.

    Args:
        device: which; None: the current one.
        abbreviated: only the bytes that tensors hold, and their peak.
    """
    found = cuda.memory_stats(device)
    name = f"cuda:{cuda.device_index(device)}" if cuda.is_available() else "no device"
    rows = _WORDS[:2] if abbreviated else _WORDS
    lines = [f"{words:<34}{found[key]:>20,}" for words, key in rows]
    return "\n".join([f"CUDA memory of {name}", *lines])


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """The address of `size` bytes of a device, which stay until `caching_allocator_delete`.

    Raises:
        ValueError: a negative size.
        RuntimeError: there is no CUDA, or not so much memory.
    """
    if size < 0:
        raise ValueError(f"caching_allocator_alloc: size must not be negative, got {size}")
    index = cuda.device_index(device)
    block = flambeau.empty(max(size, 1), dtype=flambeau.uint8, device=f"cuda:{index}")
    if stream is not None and not isinstance(stream, int):
        stream.record_stream(block)
    _blocks[block.data_ptr()] = block
    return block.data_ptr()


def caching_allocator_delete(mem_ptr: int) -> None:
    """Gives back what `caching_allocator_alloc` gave.

    Raises:
        ValueError: it did not give this address, or it was given back before.
    """
    if _blocks.pop(mem_ptr, None) is None:
        raise ValueError(f"caching_allocator_delete: no block begins at {brief(mem_ptr)}")


def caching_allocator_enable(value: bool = True) -> None:
    """True is how it is: memory that is freed is kept for the next tensor.

    Raises:
        RuntimeError: for False.
    """
    if not value:
        raise RuntimeError("caching_allocator_enable: memory of devices is always cached")


def get_allocator_backend() -> str:
    """ "native": Flambeau's own allocator."""
    return "native"


def get_per_process_memory_fraction(device: Any = None) -> float:
    """1.0: this process may use all memory of a device."""
    return 1.0


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """1.0 is how it is.

    Raises:
        ValueError: the fraction is not between 0 and 1.
        RuntimeError: for less than 1: there are no limits.
    """
    if not 0 <= fraction <= 1:
        raise ValueError(
            f"set_per_process_memory_fraction: fraction must be from 0 to 1, got {brief(fraction)}"
        )
    if fraction != 1:
        raise RuntimeError("set_per_process_memory_fraction: there are no limits to memory")


def host_memory_stats() -> OrderedDict[str, Any]:
    """Nothing: no memory of the host is kept for devices."""
    return OrderedDict()


def reset_peak_host_memory_stats() -> None:
    """Nothing is left to do: no memory of the host is kept for devices."""


def reset_accumulated_host_memory_stats() -> None:
    """Nothing is left to do: no memory of the host is kept for devices."""


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Counts how often memory is asked for from 0 on."""
    cuda.count_from_now(device)


# Former names ------------------------------------------------------------------------------------


def _former(name: str, now: str) -> None:
    warnings.warn(f"cuda.{name} is now called cuda.{now}", FutureWarning, stacklevel=3)


def memory_cached(device: Any = None) -> int:
    """The former name of `memory_reserved`."""
    _former("memory_cached", "memory_reserved")
    return cuda.memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """The former name of `max_memory_reserved`."""
    _former("max_memory_cached", "max_memory_reserved")
    return cuda.max_memory_reserved(device)


def reset_max_memory_allocated(device: Any = None) -> None:
    """The former name of `reset_peak_memory_stats`."""
    _former("reset_max_memory_allocated", "reset_peak_memory_stats")
    cuda.reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """The former name of `reset_peak_memory_stats`."""
    _former("reset_max_memory_cached", "reset_peak_memory_stats")
    cuda.reset_peak_memory_stats(device)


def __getattr__(name: str) -> Any:
    """What `cuda` has of memory is here, too: `empty_cache`, `memory_allocated`."""
    if name.startswith("_") or not hasattr(cuda, name):
        raise AttributeError(f"flambeau.cuda.memory has no '{name}'", name=name)
    return getattr(cuda, name)
