"""Pools by the module that programs import them from."""

from __future__ import annotations

import multiprocessing.pool
from typing import Any

from flambeau.multiprocessing.contexts import get_context

__all__ = ["Pool"]


class Pool(multiprocessing.pool.Pool):
    """Processes that call functions, whose arguments and results may hold tensors.

    Args:
        processes, initializer, initargs, maxtasksperchild: as of Python's own.
        context: None: that of `get_context()`.

    Example:
        >>> from flambeau.multiprocessing.pool import Pool
        >>> with Pool(1, context=flambeau.multiprocessing.get_context("fork")) as pool:
        ...     pool.map(flambeau.sqrt, [flambeau.tensor([4.])])
        [tensor([2.])]
    """

    def __init__(
        self,
        processes: int | None = None,
        initializer: Any = None,
        initargs: Any = (),
        maxtasksperchild: int | None = None,
        context: Any = None,
    ) -> None:
        super().__init__(
            processes, initializer, initargs, maxtasksperchild, context or get_context()
        )
