"""cuDNN: Flambeau's kernels for CUDA are its own, and do not call it.

The switches can be set and read; no kernel is chosen by them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags"]
__all__ += ["is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit: int | None = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False.

    Example:
        >>> flambeau.backends.cudnn.is_available()
        False
    """
    return False


def version() -> int | None:
    """None: there is none.

    Example:
        >>> print(flambeau.backends.cudnn.version())
        None
    """
    return None


def is_acceptable(tensor: Any) -> bool:
    """False: it computes nothing.

    Args:
        tensor: any.

    Example:
        >>> flambeau.backends.cudnn.is_acceptable(flambeau.ones(2))
        False
    """
    return False


@contextlib.contextmanager
def flags(**switches: Any) -> Iterator[None]:
    """Sets switches, `benchmark=True` for instance, for the time of a block.

    Raises:
        TypeError: there is no such switch.

    Example:
        >>> from flambeau.backends import cudnn
        >>> with cudnn.flags(benchmark=True):
        ...     print(cudnn.benchmark)
        True
        >>> cudnn.benchmark
        False
    """
    known = globals()
    for name in switches:
        if name not in __all__ or callable(known[name]):
            raise TypeError(f"backends.cudnn.flags(): there is no switch {name!r}")
    before = {name: known[name] for name in switches}
    known.update(switches)
    try:
        yield
    finally:
        known.update(before)
