"""CUDA graphs: Flambeau records none."""

from __future__ import annotations

from typing import Any

__all__ = ["CUDAGraph", "graph", "is_current_stream_capturing"]


class CUDAGraph:
    """A recording of kernels: none can be made.

    Example:
        >>> flambeau.cuda.CUDAGraph()
        Traceback (most recent call last):
            ...
        RuntimeError: cuda.CUDAGraph: Flambeau does not record kernels
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("cuda.CUDAGraph: Flambeau does not record kernels")


class graph:
    """A block that is recorded: none can be.

    Example:
        >>> with flambeau.cuda.graph(None):
        ...     pass
        Traceback (most recent call last):
            ...
        RuntimeError: cuda.graph: Flambeau does not record kernels
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("cuda.graph: Flambeau does not record kernels")


def is_current_stream_capturing() -> bool:
    """False: nothing is recorded.

    Example:
        >>> flambeau.cuda.is_current_stream_capturing()
        False
    """
    return False
