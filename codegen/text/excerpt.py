"""Lines of declaration files as diagnostics quote them: cut to a window, with carets below."""

from __future__ import annotations

import unicodedata

# A longer line is cut to a window around the mistake.
WIDTH = 100
_LEAD = 30  # what stays visible before the mistake
_CUT = "..."

_lines_of: dict[str, list[str]] = {}


def remember_source(file: str, text: str) -> list[str]:
    """Keep the text of `file`, so that diagnostics can quote it; its lines are returned."""
    _lines_of[file] = with_plain_lines(text).split("\n")
    return _lines_of[file]


def with_plain_lines(text: str) -> str:
    """Without a mark of the byte order, and with lines that end as Unix's do."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def source_line(file: str, line: int) -> str | None:
    """Line `line` of a file, or None where it was not read or is shorter."""
    lines = _lines_of.get(file, [])
    return lines[line - 1] if 1 <= line <= len(lines) else None


def excerpt_lines(file: str, line: int, column: int, length: int) -> list[str]:
    """The line and the carets below it; nothing where the file was not read."""
    found = source_line(file, line)
    if found is None:
        return []
    start = min(column - 1, len(found))
    end = min(start + max(length, 1), max(len(found), start + 1))
    text, start, end = _window(found, start, end)
    # Tabs are kept, so that the carets stay below their characters whatever their width.
    indent = "".join("\t" if c == "\t" else " " * _columns(c) for c in text[:start])
    marked = sum(_columns(c) for c in text[start:end]) or 1
    return ["".join(map(_visible, text)), indent + "^" + "~" * (marked - 1)]


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """A part of the line around the characters from `start` to `end`, and their place in it."""
    if len(line) <= WIDTH:
        return line, start, end
    first = max(0, min(start - _LEAD, len(line) - WIDTH))
    last = min(first + WIDTH, len(line))
    before, after = _CUT if first else "", _CUT if last < len(line) else ""
    shift = len(before) - first
    return before + line[first:last] + after, start + shift, min(end, last) + shift


def _columns(character: str) -> int:
    """How wide a terminal shows a character."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _visible(character: str) -> str:
    """A printable stand-in for characters that would move the cursor or hide text."""
    if ord(character) < 32 and character != "\t":
        return chr(0x2400 + ord(character))
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs")
    return "\N{REPLACEMENT CHARACTER}" if hidden and character != "\t" else character
