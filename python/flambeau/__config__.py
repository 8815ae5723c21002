"""What the library was built with, as text."""

from __future__ import annotations

import flambeau
from flambeau import backends
from flambeau._version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The version, the instruction set that kernels were chosen for, what there is beside it."""
    return "\n".join(
        (
            f"Flambeau {__version__}:",
            f"  - instruction set: {backends.cpu.get_cpu_capability()}",
            "  - linear algebra: LAPACK, by SciPy",
            f"  - CUDA: {flambeau.version.cuda or 'not available'}",
        )
    )


def parallel_info() -> str:
    """How many threads compute."""
    return f"Threads of the pool: {flambeau.get_num_threads()}"
