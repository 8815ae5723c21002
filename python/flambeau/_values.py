"""Values that users pass: how messages show them, and how sequences are read."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any

from flambeau import _C


class _Short(reprlib.Repr):
    """repr() of a few elements, to a depth of a few lists; never an error."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxstring = self.maxother = 100

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to print more digits than a limit.
        return repr(x) if x.bit_length() <= 512 else f"an int of {x.bit_length()} bits"


_short = _Short()


def brief(value: Any) -> str:
    """What a message says of a value that was not expected."""
    try:
        return _short.repr(value)
    except RecursionError:
        return f"an object of type {type(value).__name__}"


def check_memo(memo: Any) -> None:
    """What `__deepcopy__` is given.

    Raises:
        TypeError: it is not a dict.
    """
    if not isinstance(memo, dict):
        raise TypeError(f"__deepcopy__: memo must be a dict, got {type(memo).__name__}")


def elements(op: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """All of a sequence or an iterator: of a sequence, as many as its length says.

    Raises:
        ValueError: memory cannot hold so many.
    """
    return _C._elements(op, values)
