"""Memory of the current accelerator; 0 everywhere where there is none.

>>> flambeau.accelerator.memory.memory_allocated() >= 0
True
"""

# mypy: implicit-reexport
from __future__ import annotations

from flambeau.cuda import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_peak_memory_stats,
)

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
]
