"""Text that is written like a call: `layouts(randn)`, `randn(3, 4), dim=1`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flambeau.codegen.text.source import Text

_USE = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\)\s*)?", re.ASCII | re.DOTALL)
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)", re.ASCII)
_MARK = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\[({]|[\])}]|,""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Use:
    """`name(arguments)`, or a name alone."""

    name: Text
    arguments: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a call; `name`: where it is given by keyword."""

    name: Text | None
    value: Text


def parse_use(text: Text) -> Use | None:
    """A name with or without arguments; None where the text is something else."""
    match = _USE.fullmatch(text.value)
    if match is None:
        return None
    inner = () if match[2] is None else tuple(_parts(text.slice(*match.span(2))))
    return Use(text.slice(*match.span(1)), inner)


def parse_arguments(text: Text) -> tuple[Given, ...]:
    """`a, b, name=c`; values are not looked at."""
    found = []
    for part in _parts(text):
        match = _KEYWORD.match(part.value)
        if match is None:
            found.append(Given(None, part))
        else:
            value = part.slice(match.end(), len(part.value)).strip()
            found.append(Given(part.slice(*match.span(1)), value))
    return tuple(found)


def _parts(text: Text) -> Iterator[Text]:
    """What stands between the commas outside of brackets and strings."""
    depth = start = 0
    for match in _MARK.finditer(text.value):
        mark = match[0]
        if mark in "[({":
            depth += 1
        elif mark in "])}":
            depth -= 1
        elif mark == "," and depth == 0:
            yield text.slice(start, match.start()).strip()
            start = match.end()
    last = text.slice(start, len(text.value)).strip()
    if last.value or start:
        yield last
