"""CUDA as a device: which there are, their memory, streams and events.

Questions have an answer where there is no CUDA: `is_available()` is False, statistics are 0.

    >>> from flambeau import cuda
    >>> cuda.is_initialized() == cuda.is_bf16_supported() == cuda.is_available()
    True
    >>> len(cuda.get_arch_list()) <= cuda.device_count() >= cuda.get_gencode_flags().count("sm_")
    True

A device is what it says, and one is current in each thread: what "cuda" without an index means.

    >>> if cuda.is_available():
    ...     cuda.init()  # does nothing: the backend starts when it is loaded
    ...     found = cuda.get_device_properties(0)
    ...     assert isinstance(found, cuda.DeviceProperties)
    ...     assert found.name == cuda.get_device_name(0)
    ...     assert (found.major, found.minor) == cuda.get_device_capability(0)
    ...     assert cuda.is_tf32_supported() == (found.major >= 8)
    ...     cuda.set_device(0)
    ...     x = flambeau.ones(2, device="cuda")
    ...     with cuda.device(cuda.device_count() - 1), cuda.device_of(x):
    ...         assert cuda.current_device() == x.device.index == 0

The allocator keeps what tensors give back; peaks are counted from when they were last started over.

    >>> cuda.reset_peak_memory_stats()
    >>> stats = cuda.memory_stats()
    >>> cuda.memory_allocated() == stats["allocated_bytes"] <= cuda.max_memory_allocated()
    True
    >>> cuda.memory_reserved() == stats["reserved_bytes"] <= cuda.max_memory_reserved()
    True
    >>> cuda.empty_cache(), cuda.ipc_collect()  # free for other programs; shared memory, of none
    (None, None)
    >>> if cuda.is_available():
    ...     free, total = cuda.mem_get_info()
    ...     assert 0 <= free <= total

Work of one stream runs in order; events order streams among each other, and measure time.

    >>> if cuda.is_available():
    ...     side, main = cuda.Stream(), cuda.current_stream()
    ...     side.wait_stream(main)  # x is there
    ...     begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    ...     with cuda.stream(side):  # a cuda.StreamContext
    ...         begin.record()
    ...         y = x.exp()
    ...         end.record()
    ...     side.record_stream(x)  # its memory serves again when the side is done
    ...     main.wait_event(end)
    ...     cuda.synchronize()
    ...     assert end.query() and begin.elapsed_time(end) >= 0
    ...     cuda.set_stream(cuda.default_stream())
    ...     theirs = cuda.get_stream_from_external(side.cuda_stream)  # a number of any library's
    ...     assert isinstance(theirs, cuda.ExternalStream) and theirs == side
"""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import flambeau
from flambeau import _lazy
from flambeau._typed_tensors import CUDA_TYPES
from flambeau.cuda import _library
from flambeau.cuda._library import device_count
from flambeau.cuda.graphs import CUDAGraph, graph, is_current_stream_capturing
from flambeau.cuda.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from flambeau.cuda.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    get_stream_from_external,
    set_stream,
    stream,
)

if TYPE_CHECKING:
    from flambeau.cuda import amp as amp
    from flambeau.cuda import comm as comm
    from flambeau.cuda import nvtx as nvtx
    from flambeau.cuda.hardware import *  # noqa: F403
    from flambeau.cuda.memory import *  # noqa: F403
    from flambeau.cuda.refused import *  # noqa: F403
else:
    _MEMBERS = {
        "hardware": (
            "can_device_access_peer check_error clock_rate device_memory_used list_gpu_processes "
            "memory_usage power_draw temperature utilization"
        ),
        "memory": (
            "caching_allocator_alloc caching_allocator_delete caching_allocator_enable "
            "get_allocator_backend get_per_process_memory_fraction host_memory_stats "
            "max_memory_cached memory_cached memory_summary reset_accumulated_host_memory_stats "
            "reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached "
            "reset_peak_host_memory_stats set_per_process_memory_fraction"
        ),
        "refused": (
            "CUDAPluggableAllocator GreenContext MemPool caching_allocator_disabled "
            "change_current_allocator cudart current_blas_handle current_solver_handle "
            "get_sync_debug_mode graph_pool_handle make_graphed_callables memory_snapshot "
            "set_sync_debug_mode use_mem_pool"
        ),
    }
    _PLACES = {name: place for place, names in _MEMBERS.items() for name in names.split()}
    __getattr__, __dir__ = _lazy.submodules(globals(), ("amp", "comm", "nvtx", *_MEMBERS), _PLACES)

__all__ = ["DeviceProperties", "Event", "Stream", "current_device", "current_stream"]
__all__ += ["default_stream", "device", "device_count", "empty_cache", "get_device_capability"]
__all__ += ["get_device_name"]
__all__ += ["get_device_properties", "is_available", "manual_seed", "manual_seed_all"]
__all__ += ["max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated"]
__all__ += ["memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device"]
__all__ += ["init", "ipc_collect", "is_bf16_supported", "set_stream", "stream", "synchronize"]
__all__ += ["CUDAGraph", "get_rng_state", "get_rng_state_all", "initial_seed", "is_initialized"]
__all__ += ["is_current_stream_capturing", "seed", "seed_all", "set_rng_state"]
__all__ += ["StreamContext", "graph", "set_rng_state_all"]
__all__ += ["ExternalStream", "default_generators", "device_of", "get_arch_list"]
__all__ += ["get_gencode_flags", "get_stream_from_external", "has_half", "has_magma"]
__all__ += ["is_tf32_supported"]

has_half = True  # there are kernels of float16
has_magma = False  # which no kernel uses
default_generators: tuple[flambeau.Generator, ...] = ()  # the CPU's serves every device


def is_available() -> bool:
    """Whether tensors can be made on a CUDA device: the backend is installed and finds a device.

    Example:
        >>> flambeau.accelerator.is_available() == flambeau.cuda.is_available()
        True
    """
    return device_count() > 0


def current_device() -> int:
    """The index of the device that "cuda" without an index stands for, in this thread."""
    index = ctypes.c_int()
    _library.call("current_device", ctypes.byref(index))
    return index.value


def device_index(device: Any) -> int:
    """The index of a device given as None (the current one), an int, a str or a device."""
    if isinstance(device, int):
        return device
    if device is None:
        return current_device()
    parsed = flambeau.device(device)
    if parsed.type != "cuda":
        raise ValueError(f"expected a CUDA device, got {parsed}")
    return current_device() if parsed.index is None else int(parsed.index)


def set_device(device: Any) -> None:
    """Makes a device the current one of this thread."""
    _library.call("set_device", device_index(device))


class device:
    """`with cuda.device(1):` makes a device current for a while. None changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = None if device is None else device_index(device)
        self._previous = -1

    def __enter__(self) -> device:
        if self.idx is not None:
            self._previous = current_device()
            set_device(self.idx)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.idx is not None:
            set_device(self._previous)


class device_of(device):
    """`with cuda.device_of(x):` makes the device of a tensor current. Of the CPU's, nothing.

    Args:
        obj: a tensor.
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.is_cuda else None)


def synchronize(device: Any = None) -> None:
    """Waits until a device has done all its work. Nothing to wait for where there is none."""
    if is_available():
        _library.call("synchronize", device_index(device))


class DeviceProperties(NamedTuple):
    """What a device is: its name, compute capability, bytes of memory and multiprocessors.

    Args:
        name: that the maker gave it.
        major, minor: its compute capability.
        total_memory: in bytes.
        multi_processor_count: how many parts run blocks of threads.
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, compute capability, memory and multiprocessors of a device."""
    name = ctypes.create_string_buffer(256)
    numbers = (ctypes.c_int64 * 4)()
    _library.call("properties", device_index(device), name, ctypes.c_size_t(256), numbers)
    major, minor, processors, memory = numbers
    return DeviceProperties(name.value.decode(), major, minor, memory, processors)


def get_device_name(device: Any = None) -> str:
    """The name that the maker gave the device."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability: (9, 0) is Hopper.

    Args:
        device: None: the current one.
    """
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_arch_list() -> list[str]:
    """The architectures of this machine's devices, which kernels are compiled for: "sm_90"."""
    found = {get_device_capability(index) for index in range(device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


def get_gencode_flags() -> str:
    """`get_arch_list` as options of nvcc."""
    numbers = [name.removeprefix("sm_") for name in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{n},code=sm_{n}" for n in numbers)


def is_tf32_supported() -> bool:
    """Whether the current device multiplies in TensorFloat-32. Kernels here do not."""
    return is_available() and get_device_capability() >= (8, 0)


_STATISTICS = (
    "allocated_bytes",
    "peak_allocated_bytes",
    "reserved_bytes",
    "peak_reserved_bytes",
    "allocations",
    "system_allocations",
)


_COUNTS = ("allocations", "system_allocations")
_counted_before: dict[int, dict[str, int]] = {}  # by device, until count_from_now()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free bytes of a device, as the driver sees them, and all its bytes."""
    numbers = (ctypes.c_int64 * 2)()
    _library.call("memory_info", device_index(device), numbers)
    return numbers[0], numbers[1]


def memory_stats(device: Any = None) -> dict[str, int]:
    """Bytes handed out and reserved, now and at their peak, and how often memory was asked for.

    Args:
        device: None: the current one.
    """
    if not is_available():
        return dict.fromkeys(_STATISTICS, 0)
    numbers = (ctypes.c_int64 * len(_STATISTICS))()
    index = device_index(device)
    _library.call("memory_stats", index, numbers)
    found = dict(zip(_STATISTICS, numbers, strict=True))
    for name, before in _counted_before.get(index, {}).items():
        found[name] -= before
    return found


def count_from_now(device: Any = None) -> None:
    """`memory_stats` counts how often memory is asked for from 0 on."""
    if not is_available():
        return
    index = device_index(device)
    _counted_before.pop(index, None)
    found = memory_stats(index)
    _counted_before[index] = {name: found[name] for name in _COUNTS}


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold.

    Args:
        device: None: the current one.
    """
    return memory_stats(device)["allocated_bytes"]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors held since reset_peak_memory_stats().

    Args:
        device: None: the current one.
    """
    return memory_stats(device)["peak_allocated_bytes"]


def memory_reserved(device: Any = None) -> int:
    """Bytes taken from the device, cached ones included."""
    return memory_stats(device)["reserved_bytes"]


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes taken from the device since reset_peak_memory_stats()."""
    return memory_stats(device)["peak_reserved_bytes"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Starts the peaks over.

    Args:
        device: None: the current one.
    """
    if is_available():
        _library.call("reset_peak", device_index(device))


def is_initialized() -> bool:
    """Whether the backend is there and finds a device: it starts when it is loaded."""
    return is_available()


def init() -> None:
    """Nothing is left to do: the backend starts when it is loaded."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes with bfloat16: all that Flambeau runs on do.

    Args:
        including_emulation: accepted: nothing is emulated.
    """
    return is_available()


def ipc_collect() -> None:
    """Nothing is left to free: memory of devices is not shared between processes."""


def empty_cache() -> None:
    """Gives cached memory back to the device."""
    if is_available():
        _library.call("empty_cache")


globals().update(CUDA_TYPES)
