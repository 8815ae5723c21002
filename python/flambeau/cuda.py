"""CUDA as a device. Every question has an answer where there is none."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all"]
__all__ += ["memory_allocated", "memory_stats", "synchronize"]


def is_available() -> bool:
    """Whether tensors can be made on a CUDA device."""
    try:
        flambeau.empty([0], device="cuda")
    except RuntimeError:
        return False
    return True


def device_count() -> int:
    """How many CUDA devices there are; 0 where none can be used."""
    count = 0
    try:
        while True:
            flambeau.empty([0], device=f"cuda:{count}")
            count += 1
    except RuntimeError:
        return count


def synchronize(device: Any = None) -> None:
    """Waits for the device. Nothing to wait for where there is none."""
    if is_available():
        flambeau.empty([1], device="cuda" if device is None else device).cpu()


def manual_seed(seed: int) -> None:
    """Seeds the generator, which serves every device."""
    flambeau.manual_seed(seed)


manual_seed_all = manual_seed


def memory_stats(device: Any = None) -> dict[str, int]:
    """Bytes handed out and held now and at their peak; empty where there is no device."""
    return dict(_C.memory_stats("cuda" if device is None else device)) if is_available() else {}


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold."""
    return memory_stats(device).get("allocated_bytes", 0)


def empty_cache() -> None:
    """Gives cached memory back to the system."""
    if is_available():
        _C.empty_cache("cuda")
