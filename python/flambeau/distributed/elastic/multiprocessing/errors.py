"""Marks of the main functions of programs that a launcher starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["record"]

F = TypeVar("F", bound=Callable[..., Any])


def record(fn: F, error_handler: Any = None) -> F:
    """The function as it is: errors of processes are printed by `flambeau.distributed.run`.

    Args:
        fn: a program's main function.
        error_handler: accepted for compatibility.

    Example:
        >>> from flambeau.distributed.elastic.multiprocessing.errors import record
        >>> @record
        ... def main():
        ...     return 3
        >>> main()
        3
    """
    return fn
