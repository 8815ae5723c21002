"""Profiles of programs: Flambeau makes none. Named ranges run what is in them."""

from __future__ import annotations

import contextlib
from typing import Any

from flambeau import _lazy

__all__ = ["record_function"]


class record_function(contextlib.ContextDecorator):
    """A named range, as a context or a decorator: it is noted nowhere."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass


__getattr__ = _lazy.unavailable(
    __name__, "Flambeau has no profiler; Python's and perf see its functions"
)
