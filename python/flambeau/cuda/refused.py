"""What CUDA has in PyTorch and Flambeau's backend has not: each says so when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["CUDAPluggableAllocator", "GreenContext", "MemPool", "caching_allocator_disabled"]
__all__ += ["change_current_allocator", "current_blas_handle", "current_solver_handle"]
__all__ += ["cudart", "get_sync_debug_mode", "graph_pool_handle", "make_graphed_callables"]
__all__ += ["memory_snapshot", "set_sync_debug_mode", "use_mem_pool"]


def _refuse(name: str, reason: str) -> NoReturn:
    raise RuntimeError(f"cuda.{name}: {reason}")


_ONE_ALLOCATOR = "memory of devices comes from Flambeau's own allocator"
_NO_RECORDS = "Flambeau does not record kernels"


class CUDAPluggableAllocator:
    """An allocator of another library: none can be used."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        _refuse("CUDAPluggableAllocator", _ONE_ALLOCATOR)


class MemPool:
    """A pool of memory beside the allocator's: none can be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("MemPool", _ONE_ALLOCATOR)


class GreenContext:
    """Some multiprocessors of a device: kernels run on all."""

    @staticmethod
    def create(num_sms: int, device_id: int = 0) -> NoReturn:
        """RuntimeError."""
        _refuse("GreenContext", "kernels run on all multiprocessors of a device")


@contextmanager
def use_mem_pool(pool: Any, device: Any = None) -> Iterator[None]:
    """RuntimeError when it is entered: there are no pools."""
    _refuse("use_mem_pool", _ONE_ALLOCATOR)
    yield


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """RuntimeError when it is entered: memory of devices is always cached."""
    _refuse("caching_allocator_disabled", "memory of devices is always cached")
    yield


def change_current_allocator(allocator: Any) -> None:
    """RuntimeError: there is one allocator."""
    _refuse("change_current_allocator", _ONE_ALLOCATOR)


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> NoReturn:
    """RuntimeError: the allocator does not list its blocks; `memory_stats` sums them up."""
    _refuse("memory_snapshot", "the allocator does not list its blocks; see memory_stats()")


def current_blas_handle() -> NoReturn:
    """RuntimeError: products are computed by Flambeau's own kernels, without cuBLAS."""
    _refuse("current_blas_handle", "products are computed without cuBLAS")


def current_solver_handle() -> NoReturn:
    """RuntimeError: no kernel uses cuSOLVER."""
    _refuse("current_solver_handle", "no kernel uses cuSOLVER")


def cudart() -> NoReturn:
    """RuntimeError: the runtime of CUDA is linked into the backend, which hands on none of it."""
    _refuse("cudart", "the runtime of CUDA is a part of the backend, and not to be called")


def graph_pool_handle() -> NoReturn:
    """RuntimeError: there are no graphs whose memory would be shared."""
    _refuse("graph_pool_handle", _NO_RECORDS)


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> NoReturn:
    """RuntimeError: nothing can be recorded."""
    _refuse("make_graphed_callables", _NO_RECORDS)


def get_sync_debug_mode() -> int:
    """0: nothing is said where a program waits for a device."""
    return 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """0 and "default" are how it is.

    Raises:
        ValueError: no such mode.
        RuntimeError: for "warn" and "error".
    """
    modes = ("default", "warn", "error")
    if debug_mode not in (*modes, *range(len(modes))):
        raise ValueError(
            f"cuda.set_sync_debug_mode: expected one of {', '.join(modes)}, 0, 1, 2, got "
            f"{debug_mode!r:.40}"
        )
    if debug_mode not in ("default", 0):
        _refuse("set_sync_debug_mode", "where a program waits for a device is not observed")
