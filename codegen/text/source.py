"""Places in declaration files, and the errors that point at them.

Every piece of text taken from a file is a `Text`: its value together with where each of its
characters stands, through YAML's quotes, escapes and block indentation. Lines and columns count
from 1.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flambeau.codegen.text.excerpt import excerpt_lines, source_line


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """`length` characters of one line. `used`: where an entry names what stands here."""

    file: str
    line: int
    column: int
    length: int = 1
    used: Span | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[int, int]:
        """The first column and the length."""
        return self.column, self.length

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Text:
    """A string of a declaration and where it stands.

    `segments` holds (offset, line, column) wherever the value stops being contiguous in the file,
    as after an escape or a line break; empty: the value stands in one piece at `span`.
    """

    value: str
    span: Span
    segments: tuple[tuple[int, int, int], ...] = field(default=(), compare=False)
    plain: bool = False  # written without quotes: only such a scalar can mean null

    def __str__(self) -> str:
        return self.value

    def at(self, offset: int, length: int = 1) -> Span:
        """The span of `length` characters from character `offset`, clipped to one line."""
        offset = min(max(offset, 0), len(self.value))
        span = self.span
        if not self.segments:
            return Span(span.file, span.line, span.column + offset, max(length, 1), span.used)
        line, column = self._place(offset)
        end_line, end_column = self._place(max(offset, offset + length - 1))
        width = end_column - column + 1 if end_line == line else self._to_line_end(line, column)
        return Span(span.file, line, column, max(width, 1), span.used)

    def slice(self, start: int, end: int) -> Text:
        """The part from `start` to `end`, located."""
        inner = [(o - start, line, c) for o, line, c in self.segments if start < o < end]
        if self.segments:
            line, column = self._place(start)
            inner.insert(0, (0, line, column))
        value = self.value[start:end]
        return Text(value, self.at(start, max(end - start, 1)), tuple(inner), self.plain)

    def strip(self) -> Text:
        """Without the white space around it."""
        start = len(self.value) - len(self.value.lstrip())
        return self.slice(start, max(start, len(self.value.rstrip())))

    def _place(self, offset: int) -> tuple[int, int]:
        """Line and column of the character at `offset`."""
        index = bisect_right(self.segments, offset, key=lambda segment: segment[0]) - 1
        start, line, column = self.segments[max(index, 0)]
        return line, column + offset - start

    def _to_line_end(self, line: int, column: int) -> int:
        text = source_line(self.span.file, line) or ""
        return len(text.rstrip()) - column + 1


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """A second place that a mistake has to do with."""

    span: Span
    message: str

    def render(self) -> str:
        """`file:line:col: note: message`, the line and a caret line."""
        return "\n".join([f"{self.span}: note: {self.message}", *excerpt(self.span)])


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: where, what, and perhaps what to do about it.

    `aside`: what was found (an undocumented argument, a missing test) does not make the rest of
    the entry doubtful, so that its formulas are evaluated all the same.
    """

    span: Span
    message: str
    hint: str | None = None
    notes: tuple[Note, ...] = ()
    aside: bool = field(default=False, compare=False)

    def render(self) -> str:
        """`file:line:col: error: message`, the line, a caret line, the hint and the notes."""
        parts = [f"{self.span}: error: {self.message}", *excerpt(self.span)]
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join([*parts, *(note.render() for note in self.all_notes)])

    @property
    def all_notes(self) -> tuple[Note, ...]:
        """The notes, and where an entry uses what the mistake is in."""
        used = self.span.used
        return self.notes if used is None else (*self.notes, Note(used, "used here"))

    def __str__(self) -> str:
        return self.render()


class DeclarationError(Exception):
    """Mistakes in declarations. `diagnostics` says which, each with its place.

    Example:
        >>> try:
        ...     flambeau.ops.load('''
        ... - op: "half(Tensor self) -> Tensor result"
        ...   kind: pointwise
        ...   dtypes: {self: float}
        ...   expr: "slef / 2"
        ... ''')
        ... except flambeau.ops.DeclarationError as error:
        ...     for mistake in error.diagnostics:
        ...         print(f"{mistake.span.line}:{mistake.span.column}: {mistake.message}")
        5:10: half: unknown name 'slef' in an element formula
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = sorted_diagnostics(diagnostics)
        super().__init__("\n".join(d.render() for d in self.diagnostics))

    @classmethod
    def at(
        cls, span: Span, message: str, hint: str | None = None, *notes: Note
    ) -> DeclarationError:
        """An error with a single diagnostic."""
        return cls([Diagnostic(span, message, hint, notes)])


class Diagnostics:
    """Collects mistakes, so that all of them are told at once."""

    def __init__(self) -> None:
        self._items: list[Diagnostic] = []

    def error(
        self,
        span: Span,
        message: str,
        hint: str | None = None,
        *notes: Note,
        aside: bool = False,
    ) -> None:
        """Add a mistake."""
        self._items.append(Diagnostic(span, message, hint, notes, aside))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add several mistakes."""
        self._items.extend(diagnostics)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Run a block; a DeclarationError that leaves it is collected, and the block ends there."""
        try:
            yield
        except DeclarationError as error:
            self.extend(error.diagnostics)

    def sorted(self) -> list[Diagnostic]:
        """By place, each once."""
        return sorted_diagnostics(self._items)

    def first_of_each(self) -> list[Diagnostic]:
        """The first mistake at each place: further ones there show the same in other ways."""
        first: dict[Span, Diagnostic] = {}
        for diagnostic in self._items:
            first.setdefault(diagnostic.span, diagnostic)
        return list(first.values())

    def raise_if_any(self) -> None:
        """Raise what was collected as one DeclarationError."""
        if self._items:
            raise DeclarationError(self._items)

    @property
    def are_asides(self) -> bool:
        """Whether none of the mistakes makes doubtful what was read besides."""
        return all(diagnostic.aside for diagnostic in self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.sorted())


def excerpt(span: Span) -> list[str]:
    """The line of a span and the carets below it; nothing for a file that was not read."""
    return [f"  {line}".rstrip() for line in excerpt_lines(span.file, span.line, *span.columns)]


def sorted_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By place, without duplicates."""
    return sorted(set(diagnostics), key=lambda d: (d.span, d.message))


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint with the nearest of `candidates`, if one is near."""
    found = difflib.get_close_matches(name, sorted(set(candidates)), n=5, cutoff=0.6)
    if not found:
        return None
    # Letters in another order, `tahn`, are nearer than one that is missing, `tan`.
    turned = (word for word in found if sorted(word) == sorted(name))
    return f"did you mean '{next(turned, found[0])}'?"


def one_of(candidates: Iterable[str]) -> str:
    """`a, b or c`, for messages."""
    names = list(candidates)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
