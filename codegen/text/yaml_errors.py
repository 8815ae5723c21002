"""What PyYAML says about text that is not YAML, in words that help, at the place that matters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import yaml

from flambeau.codegen.text.source import Diagnostic, Note, Span

_QUOTES = ("'", '"')
_QUOTING = "quote text that starts with one of * & [ ] { } % @ ` ! | >"


def syntax_error(
    file: str, lines: Sequence[str], error: yaml.MarkedYAMLError, first_line: int, last: Any
) -> Diagnostic:
    """The diagnostic for an error in a text that begins on line `first_line` of the file; `last`:
    the last event before it.
    """
    return _Explanation(file, lines, error, first_line, last).diagnostic()


class _Explanation:
    def __init__(
        self,
        file: str,
        lines: Sequence[str],
        error: yaml.MarkedYAMLError,
        first_line: int,
        last: Any,
    ) -> None:
        self._file = file
        self._lines = lines
        self._first = first_line
        self._quoted = (
            last if isinstance(last, yaml.ScalarEvent) and last.style in _QUOTES else None
        )
        self._last = last
        self._problem = error.problem or str(error)
        self._context = error.context or ""
        self._here = self._span(error.problem_mark or error.context_mark)
        self._opened = self._span(error.context_mark or error.problem_mark)

    def diagnostic(self) -> Diagnostic:
        """The first explanation that fits."""
        explanations = (
            self._tab,
            self._unclosed_quote,
            self._escape,
            self._after_quote,
            self._bracket,
            self._after_value,
            self._key,
            self._start_of_value,
            self._indentation,
        )
        found = (explain() for explain in explanations)
        fallback = Diagnostic(self._here, f"YAML syntax: {self._problem}")
        return next((d for d in found if d is not None), fallback)

    def _span(self, mark: Any, length: int = 1) -> Span:
        if mark is None:
            return Span(self._file, self._first, 1)
        return Span(self._file, mark.line + self._first, mark.column + 1, length)

    def _rest(self, span: Span) -> str:
        """The line from a place on."""
        line = self._lines[span.line - 1] if span.line <= len(self._lines) else ""
        return line[span.column - 1 :]

    def _whole(self, span: Span) -> Span:
        """From a place to the end of its line."""
        return Span(span.file, span.line, span.column, max(len(self._rest(span).rstrip()), 1))

    def _tab(self) -> Diagnostic | None:
        if "'\\t'" not in self._problem:
            return None
        return Diagnostic(self._here, "a tab in the indentation", "indent with spaces, not tabs")

    def _unclosed_quote(self) -> Diagnostic | None:
        if "quoted scalar" not in self._context or "unexpected end" not in self._problem:
            return None
        return Diagnostic(self._whole(self._opened), "the quote that starts here is not closed")

    def _after_quote(self) -> Diagnostic | None:
        """A quote within a text, or one that is closed by the opening quote of a later text."""
        if self._quoted is None or "found '<scalar>'" not in self._problem.replace("got", "found"):
            return None
        start, end = self._span(self._quoted.start_mark), self._span(self._quoted.end_mark)
        if start.line != end.line:
            note = Note(replace(end, column=end.column - 1), "the next quote is here")
            message = "the quote that starts here is not closed on its line"
            return Diagnostic(self._whole(start), message, None, (note,))
        if self._here.line != end.line:
            return None
        hint = 'inside double quotes write \\" for a quote, inside single quotes write two'
        return Diagnostic(self._whole(self._here), "text after the closing quote", hint)

    def _escape(self) -> Diagnostic | None:
        hint = "single quotes take a backslash as it is"
        if match := re.fullmatch(r"found unknown escape character '(.*)'", self._problem):
            span = Span(self._file, self._here.line, self._here.column - 1, 2)
            return Diagnostic(span, f"'\\{match[1]}' is no escape of a double-quoted text", hint)
        if match := re.match(r"expected escape sequence of (\d)", self._problem):
            message = f"expected {match[1]} hexadecimal digits in this escape"
            return Diagnostic(self._here, message, hint)
        return None

    def _bracket(self) -> Diagnostic | None:
        match = re.match(r"expected ',' or '([]}])', but got '(.*)'", self._problem)
        if match is None:
            return None
        opening = "[" if match[1] == "]" else "{"
        if match[2] == "<stream end>":
            return Diagnostic(self._whole(self._opened), f"'{opening}' is not closed")
        found = f", found '{match[2]}'" if match[2] in ("]", "}", ":") else ""
        message = f"expected ',' or '{match[1]}'{found}"
        note = Note(self._opened, f"'{opening}' was opened here")
        return Diagnostic(self._here, message, None, (note,))

    def _after_value(self) -> Diagnostic | None:
        match = re.match(r"expected <block end>, but found '(.*)'", self._problem)
        if match is None:
            return None
        if match[1] in ("]", "}"):
            opening = "[" if match[1] == "]" else "{"
            return Diagnostic(self._here, f"'{match[1]}' without a '{opening}'")
        line = self._lines[self._here.line - 1]
        if match[1] == "<scalar>" and line[: self._here.column - 1].strip():
            return Diagnostic(self._whole(self._here), "text after the end of a value", _QUOTING)
        hint = "keys of one mapping, and items of one list, start in the same column"
        note = Note(self._opened, "the first one starts here")
        return Diagnostic(self._here, "this indentation fits nothing above", hint, (note,))

    def _key(self) -> Diagnostic | None:
        if "could not find expected ':'" in self._problem:
            hint = "write `key: value`, with a space after the colon"
            return Diagnostic(self._whole(self._opened), "a key without a value", hint)
        if "mapping values are not allowed" in self._problem:
            hint = "quote text that holds ': '; keys of one mapping start in the same column"
            return Diagnostic(self._here, "a ':' where no key can stand", hint)
        if "sequence entries are not allowed" in self._problem:
            hint = "write [a, b], or start the list on a line of its own"
            return Diagnostic(self._here, "a list cannot start in the middle of a line", hint)
        return None

    def _start_of_value(self) -> Diagnostic | None:
        starts = ("cannot start any token", "expected the node content", "expected alphabetic")
        if not any(start in self._problem for start in starts):
            return None
        place = self._opened if "scanning a" in self._context else self._here
        if isinstance(self._last, yaml.AliasEvent):
            place = self._span(self._last.start_mark)
        found = self._rest(place)[:1]
        what = f"'{found}'" if found else "the end of the line"
        return Diagnostic(place, f"a value cannot start with {what}", _QUOTING)

    def _indentation(self) -> Diagnostic | None:
        if "'<document start>'" not in self._problem:
            return None
        return Diagnostic(
            self._here, "this indentation fits nothing above", "entries start in the first column"
        )
