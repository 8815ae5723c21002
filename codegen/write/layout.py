"""Breaks lines of generated C++ that are too long to be read: statements of a block and branches
of a choice stand below each other, lists and sums fill lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from textwrap import wrap

COLUMNS = 100
INDENT = 4
_BLOCK = 2  # the indent of a block's statements
# Where code is cut, the loosest first. A cut leaves what stands before the space on its line.
_CHOICE = (" ? ", " : ")
_COMPARISONS = (" == ", " != ", " <= ", " >= ", " < ", " > ")
_OPERATORS = ((" || ",), (" && ",), _COMPARISONS, (" + ", " - "), (" * ", " / "))
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}
_CLOSING = {opening: closing for closing, opening in _OPENING.items()}
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
# Texts, and brackets; those of templates stand close to a name.
_TOKEN = re.compile(rf"{_TEXT.pattern}|[()\[\]{{}}]|(?<=\w)<(?![ =<])|(?<![- ])>")
_GUARD = re.compile(r"(?:if|for|while) (?=\()")
# Of what follows a bracket on the line that closes it.
_SHORT = 40


@cache
def _fitting(code: str, indent: int) -> tuple[str, ...]:
    """A long line, broken; what nests too deep to show how, as a nested polynomial, fills lines."""
    lines = _broken(code, indent)
    if max(map(len, lines)) <= COLUMNS or _TEXT.search(code):
        return tuple(lines)
    first, later = " " * indent, " " * (indent + INDENT)
    filled = wrap(
        code, COLUMNS, initial_indent=first, subsequent_indent=later, break_long_words=False
    )
    if max(map(len, filled)) > COLUMNS:  # calls in calls, with no space between
        filled = _cut_in_calls(code, first, later)
    return tuple(filled)


def _cut_in_calls(code: str, first: str, later: str) -> list[str]:
    """Cut behind spaces and opening brackets."""
    lines = [first]
    for piece in re.split(r"(?<=[ (])", code):
        if len(f"{lines[-1]}{piece}".rstrip()) > COLUMNS:
            lines.append(later)
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def laid_out(text: str) -> str:
    """The text of a C++ file, its long lines broken."""
    lines: list[str] = []
    is_macro = False
    for line in text.split("\n"):
        is_macro = is_macro or line.startswith("#")
        code = line.lstrip(" ")
        if len(line) <= COLUMNS or is_macro or code.startswith("//"):
            lines.append(line)
        else:
            lines += _fitting(code, len(line) - len(code))
        is_macro = is_macro and line.endswith("\\")
    return "\n".join(lines)


class _Code:
    """Code in which texts and what stands in brackets are units. Brackets without a partner, of
    blocks that go on in other lines, are ordinary characters.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def groups(self) -> list[tuple[int, int]]:
        """Where the outermost brackets open and close."""
        found: list[tuple[int, int]] = []
        opened: list[int] = []
        for token in _TOKEN.finditer(self.text):
            bracket, index = token[0], token.start()
            if bracket in _CLOSING:
                opened.append(index)
            elif bracket in _OPENING:
                while opened and self.text[opened[-1]] == "<" and bracket != ">":
                    opened.pop()
                if opened and self.text[opened[-1]] == _OPENING[bracket]:
                    start = opened.pop()
                    while found and found[-1][0] > start:
                        found.pop()
                    found.append((start, index))
        return found

    @cached_property
    def _outside(self) -> str:
        """The code with blots over texts and what stands in brackets."""
        blotted = _TEXT.sub(lambda text: "~" * len(text[0]), self.text)
        for start, end in self.groups:
            blotted = f"{blotted[:start]}{'~' * (end - start)}{blotted[end:]}"
        return blotted

    def parts(self, separators: Sequence[str], before: bool = False) -> list[str]:
        """The code cut at separators outside brackets, each left with what it follows, or with
        what comes after it.
        """
        cuts = []
        for separator in separators:
            cut = self._outside.find(separator)
            while cut >= 0:
                cuts.append(cut + 1 if before else cut + len(separator))
                cut = self._outside.find(separator, cut + 1)
        cuts.sort()
        ends = [*cuts, len(self.text)]
        return [self.text[i:j].strip() for i, j in zip([0, *cuts], ends, strict=True)]


def _broken(text: str, indent: int, tail: str = "", is_list: bool = False) -> list[str]:
    """The lines of some code, which `tail` follows in the last one. `is_list`: whether it stands
    in brackets.
    """
    if indent + len(text) + len(tail) <= COLUMNS:
        return [" " * indent + text + tail]
    code = _Code(text)
    statements = code.parts(["; "])
    if len(statements) > 1:
        return _below_each_other(statements, indent, indent, tail)
    guard = _GUARD.match(text)
    if guard and code.groups and code.groups[0][1] < len(text) - len(" {"):
        end = code.groups[0][1] + 1
        if text[end:] != " {":
            body = _broken(text[end:].lstrip(), indent + _BLOCK, tail)
            return [*_broken(text[:end], indent), *body]
    if is_list and len(items := code.parts([", "])) > 1:
        return _filled(items, indent, indent, tail)
    if len(branches := code.parts(_CHOICE, before=True)) > 1:
        return _below_each_other(branches, indent, indent + INDENT, tail)
    for operators in _OPERATORS:
        if len(operands := code.parts(operators)) > 1:
            return _filled(operands, indent, indent if is_list else indent + INDENT, tail)
    group = _group_to_open(code, indent)
    if group is not None:
        return _opened(text, group, indent, tail)
    for separator in (" = ", " "):
        if len(words := code.parts([separator])) > 1:
            return _filled(words, indent, indent + INDENT, tail)
    last = code.groups[-1:]
    return _opened(text, last[0], indent, tail) if last else [" " * indent + text + tail]


def _below_each_other(parts: Sequence[str], indent: int, next_: int, tail: str) -> list[str]:
    lines: list[str] = []
    for index, part in enumerate(parts):
        end = tail if index == len(parts) - 1 else ""
        lines += _broken(part, next_ if index else indent, end)
    return lines


def _filled(parts: Sequence[str], indent: int, next_: int, tail: str) -> list[str]:
    """As many parts in a line as it holds; one that is longer has lines of its own."""
    lines: list[str] = []
    line = ""
    for index, part in enumerate(parts):
        end = tail if index == len(parts) - 1 else ""
        if line and len(line) + 1 + len(part) + len(end) <= COLUMNS:
            line += f" {part}"
            continue
        if line:
            lines.append(line)
        *whole, line = _broken(part, next_ if lines else indent, end, is_list=False)
        lines += whole
        if whole:
            lines.append(line)
            line = ""
        elif end:
            line = line.removesuffix(end)
    return [*lines, line + tail] if line else lines


def _group_to_open(code: _Code, indent: int) -> tuple[int, int] | None:
    """The longest brackets of those that little follows, and that open within the line; of
    templates only where these are all that there is.
    """
    groups = [(i, j) for i, j in code.groups if j - i > 1]
    if any(code.text[i] != "<" for i, _ in groups):
        groups = [(i, j) for i, j in groups if code.text[i] != "<"]
    fit = [g for g in groups if len(code.text) - g[1] <= _SHORT and indent + g[0] < COLUMNS]
    return max(fit, key=lambda group: group[1] - group[0], default=None)


def _opened(text: str, group: tuple[int, int], indent: int, tail: str) -> list[str]:
    """What stands in brackets below what stands before them."""
    start, end = group
    inner = text[start + 1 : end].strip()
    if text[start] == "{" and inner.endswith(";"):
        body = _broken(inner, indent + _BLOCK)
        return [*_broken(text[: start + 1], indent), *body, " " * indent + text[end:] + tail]
    # Brackets that hold nothing but brackets open together.
    while (only := _only_group(inner)) and indent + start + only[0] + 1 < COLUMNS:
        start, end = text.index(inner, start + 1) + only[0], text.index(inner, start + 1) + only[1]
        inner = text[start + 1 : end].strip()
    head, rest = text[: start + 1], text[end:] + tail
    return [*_broken(head, indent), *_broken(inner, indent + INDENT, rest, is_list=True)]


def _only_group(text: str) -> tuple[int, int] | None:
    """The brackets that end some code, if it is one call or one negation."""
    code = _Code(text)
    groups = [(i, j) for i, j in code.groups if text[i] != "<"]
    if len(groups) != 1 or groups[0][1] != len(text) - 1 or groups[0][1] - groups[0][0] == 1:
        return None
    return None if " " in text[: groups[0][0]] or text[groups[0][0]] == "{" else groups[0]
