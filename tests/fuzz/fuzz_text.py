"""Tables of Python text."""

from __future__ import annotations


def lines(text: str) -> tuple[str, ...]:
    """One entry a line."""
    return tuple(line.strip() for line in text.strip().splitlines())
