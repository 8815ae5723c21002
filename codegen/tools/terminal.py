"""Colour on a terminal, and nowhere else."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
_PLACE = re.compile(r"^(\S.*?:\d+:\d+:)( error:)?(.*)$")
_CARET = re.compile(r"^\s*\^~*$")
_HINT = re.compile(r"^(\s*)(hint:)(.*)$")


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and the user has not declined them.

    `NO_COLOR` (https://no-color.org), when it is set and not empty, declines.
    """
    declined = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not declined


class Style:
    """Text with or without escape sequences."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.on = wants_colour(sys.stdout if stream is None else stream)

    def __call__(self, text: str, *styles: str) -> str:
        """The text in some of: bold, dim, red, green, yellow, cyan."""
        if not self.on or not text:
            return text
        codes = ";".join(str(_CODES[s]) for s in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def diagnostic(self, rendered: str) -> str:
        """A diagnostic: its place bold, the word error red, carets green, the hint cyan."""
        return "\n".join(self._diagnostic_line(line) for line in rendered.split("\n"))

    def _diagnostic_line(self, line: str) -> str:
        if not self.on:
            return line
        if found := _PLACE.match(line):
            error = self(found[2] or "", "bold", "red")
            return self(found[1], "bold") + error + self(found[3], "bold")
        if _CARET.match(line):
            return self(line, "green")
        if found := _HINT.match(line):
            return found[1] + self(found[2], "cyan") + found[3]
        return line

    def difference(self, line: str) -> str:
        """A line of a unified diff."""
        if line.startswith(("---", "+++")):
            return self(line, "bold")
        colours = {"-": "red", "+": "green", "@": "cyan"}
        colour = colours.get(line[:1])
        return self(line, colour) if colour else line
