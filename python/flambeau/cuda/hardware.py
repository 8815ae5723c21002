"""What the driver knows of a device: load, temperature, power, clock, memory, processes.

Asked of libcuda and of NVML, libraries that come with the driver.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from flambeau import cuda

__all__ = ["can_device_access_peer", "check_error", "clock_rate", "device_memory_used"]
__all__ += ["list_gpu_processes", "memory_usage", "power_draw", "temperature", "utilization"]

_TEMPERATURE_OF_CHIP = 0
_CLOCK_OF_MULTIPROCESSORS = 1
_LONGEST_ADDRESS = 32
_MOST_PROCESSES = 256


class _Utilization(ctypes.Structure):
    """Percentages of the last second."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    """Bytes."""

    _fields_ = tuple((name, ctypes.c_ulonglong) for name in ("total", "free", "used"))


class _Process(ctypes.Structure):
    """A program that computes on a device."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


@cache
def _loaded(file: str, start: str, *arguments: Any) -> ctypes.CDLL:
    """A library of the driver, started.

    Raises:
        RuntimeError: it is not installed, or does not start.
    """
    try:
        library = ctypes.CDLL(file)
    except OSError:
        raise RuntimeError(f"CUDA is not available: {file}, of its driver, is not there") from None
    failed = getattr(library, start)(*arguments)
    if failed:
        raise RuntimeError(f"CUDA is not available: {file} does not start, its error {failed}")
    return library


def _driver(name: str, *arguments: Any) -> None:
    failed = getattr(_loaded("libcuda.so.1", "cuInit", 0), name)(*arguments)
    if failed:
        raise RuntimeError(f"cuda: {name} of the driver failed, its error {failed}")


def _nvml(name: str, *arguments: Any) -> None:
    failed = getattr(_loaded("libnvidia-ml.so.1", "nvmlInit_v2"), name)(*arguments)
    if failed:
        raise RuntimeError(f"cuda: {name} of NVML failed, its error {failed}")


def _ordinal(device: Any) -> ctypes.c_int:
    """The driver's handle of a device."""
    found = ctypes.c_int()
    _driver("cuDeviceGet", ctypes.byref(found), cuda.device_index(device))
    return found


def _handle(device: Any) -> ctypes.c_void_p:
    """NVML's handle of a device, which is found by its place on the bus: NVML counts devices that
    are hidden from the process, too.
    """
    address = ctypes.create_string_buffer(_LONGEST_ADDRESS)
    _driver("cuDeviceGetPCIBusId", address, _LONGEST_ADDRESS, _ordinal(device))
    handle = ctypes.c_void_p()
    _nvml("nvmlDeviceGetHandleByPciBusId_v2", address, ctypes.byref(handle))
    return handle


def _number(name: str, device: Any, *arguments: int) -> int:
    found = ctypes.c_uint()
    _nvml(name, _handle(device), *arguments, ctypes.byref(found))
    return found.value


def _load(device: Any) -> _Utilization:
    found = _Utilization()
    _nvml("nvmlDeviceGetUtilizationRates", _handle(device), ctypes.byref(found))
    return found


def utilization(device: Any = None) -> int:
    """For how many percent of the last second kernels ran.

    Raises:
        RuntimeError: there is no driver of CUDA, as with all functions of this module.
    """
    return int(_load(device).gpu)


def memory_usage(device: Any = None) -> int:
    """For how many percent of the last second memory was read or written."""
    return int(_load(device).memory)


def temperature(device: Any = None) -> int:
    """Degrees Celsius of the chip."""
    return _number("nvmlDeviceGetTemperature", device, _TEMPERATURE_OF_CHIP)


def power_draw(device: Any = None) -> int:
    """Milliwatts."""
    return _number("nvmlDeviceGetPowerUsage", device)


def clock_rate(device: Any = None) -> int:
    """Megahertz of the multiprocessors."""
    return _number("nvmlDeviceGetClockInfo", device, _CLOCK_OF_MULTIPROCESSORS)


def device_memory_used(device: Any = None) -> int:
    """Bytes that all programs together hold of a device."""
    found = _Memory()
    _nvml("nvmlDeviceGetMemoryInfo", _handle(device), ctypes.byref(found))
    return int(found.used)


def list_gpu_processes(device: Any = None) -> str:
    """The programs that compute on a device and the memory that they hold, a line for each."""
    count = ctypes.c_uint(_MOST_PROCESSES)
    found = (_Process * _MOST_PROCESSES)()
    name = "nvmlDeviceGetComputeRunningProcesses_v3"
    _nvml(name, _handle(device), ctypes.byref(count), found)
    lines = [
        f"process {one.pid:>10} uses {one.used / 2**20:12.3f} MB of memory"
        for one in found[: count.value]
    ]
    head = f"GPU:{cuda.device_index(device)}"
    return "\n".join([head, *(lines or ["no processes are running"])])


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether kernels of a device can read the memory of another one."""
    found = ctypes.c_int()
    ordinals = _ordinal(device), _ordinal(peer_device)
    _driver("cuDeviceCanAccessPeer", ctypes.byref(found), *ordinals)
    return bool(found.value)


def check_error(res: int) -> None:
    """Nothing for 0.

    Raises:
        RuntimeError: `res` is the number of an error of CUDA.
    """
    if res:
        name = ctypes.c_char_p()
        _driver("cuGetErrorName", int(res), ctypes.byref(name))
        raise RuntimeError(f"CUDA error {int(res)}: {(name.value or b'unknown').decode()}")
