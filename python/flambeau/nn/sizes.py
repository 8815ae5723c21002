"""Sizes given as one number or one per dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau._values import brief, elements


def spread(name: str, value: int | Sequence[int], count: int) -> tuple[int, ...]:
    """`count` numbers: one number repeated, or a sequence of that many.

    Raises:
        ValueError: for a sequence of another length.
    """
    if isinstance(value, int):
        return (value,) * count
    values = tuple(int(v) for v in elements(name, value))
    if len(values) != count:
        raise ValueError(f"{name}: expected a number or {count} of them, got {brief(value)}")
    return values


def shown(value: Any) -> str:
    """A size as it is printed."""
    return (
        str(tuple(value))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )
