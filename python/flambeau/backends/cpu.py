"""The CPU backend."""

from __future__ import annotations

from flambeau import _C

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instruction set that loops use: "baseline", "avx2" or "avx512".

    Example:
        >>> flambeau.backends.cpu.get_cpu_capability() == flambeau.cpu.get_capability()
        True
    """
    return str(_C._cpu_capability())
