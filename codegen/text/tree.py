"""YAML text -> a tree of located strings. No value is interpreted: `1e-5`, `on`, `010` stay text.

Anchors, tags and several documents in one file are not part of the declaration language.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import yaml

from flambeau.codegen.text.excerpt import remember_source, with_plain_lines
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Note, Span, Text
from flambeau.codegen.text.yaml_errors import syntax_error


@dataclass(frozen=True, slots=True)
class Sequence:
    """A YAML list."""

    items: tuple[Node, ...]
    span: Span
    broken: tuple[str, ...] = ()  # the first lines of items that could not be read


@dataclass(frozen=True, slots=True)
class Mapping:
    """A YAML mapping, in order. Its keys are unique."""

    entries: tuple[tuple[Text, Node], ...]
    span: Span
    damaged: bool = False  # something in it was reported and left out

    def get(self, key: str) -> Node | None:
        """The value of `key`."""
        return next((value for name, value in self.entries if name.value == key), None)

    def key(self, name: str) -> Text | None:
        """The key called `name`, for its place."""
        return next((key for key, _ in self.entries if key.value == name), None)

    def having(self, name: str, value: Node) -> Mapping:
        """The mapping with another value for a key, or with one more."""
        if self.key(name) is None:
            return replace(self, entries=(*self.entries, (Text(name, value.span), value)))
        entries = tuple((k, value if k.value == name else v) for k, v in self.entries)
        return replace(self, entries=entries)

    def without(self, *names: str) -> Mapping:
        """The mapping without some keys."""
        return replace(self, entries=tuple(e for e in self.entries if e[0].value not in names))


Node = Text | Sequence | Mapping

MAXIMUM_DEPTH = 50
MAXIMUM_SIZE = 4_000_000  # characters of a file
_FRAMES = (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(file: str, text: str, diagnostics: Diagnostics) -> Node | None:
    """The tree of a file; None when it is empty or is not YAML (which is then reported).

    A file that is not YAML as a whole is read entry by entry: one mistake does not hide the others.
    """
    text = with_plain_lines(text)
    lines = remember_source(file, text)
    if len(text) > MAXIMUM_SIZE:
        message = f"a file of more than {MAXIMUM_SIZE} characters"
        diagnostics.error(Span(file, 1, 1), message, "write several files")
        return None
    if not _characters_are_usual(file, lines, diagnostics):
        return None
    part = _Part(file, lines, 0, len(lines))
    whole = Diagnostics()
    root: Node | None = None
    with whole.collecting():
        root = part.tree(whole)
        diagnostics.extend(whole)
        return root
    return _recovered(part, whole, diagnostics)


def _recovered(part: _Part, whole: Diagnostics, diagnostics: Diagnostics) -> Node | None:
    """The entries that can be read. An entry starts with a '-' in the first column."""
    starts = [i for i, line in enumerate(part.lines) if line == "-" or line.startswith("- ")]
    if starts and any(line.split("#")[0].strip() for line in part.lines[: starts[0]]):
        starts.insert(0, 0)
    items: list[Node] = []
    broken: list[str] = []
    for start, end in pairwise([*starts, len(part.lines)]):
        own = Diagnostics()
        with own.collecting():
            root = _Part(part.file, part.lines, start, end).tree(own)
            diagnostics.extend(own)
            items.extend(root.items if isinstance(root, Sequence) else [root] if root else [])
            continue
        diagnostics.extend(own)
        broken.append(part.lines[start])
    if not broken:
        diagnostics.extend(whole)
        return None
    return Sequence(tuple(items), Span(part.file, 1, 1), tuple(broken))


@dataclass(frozen=True, slots=True)
class _Part:
    """Some lines of a file; `start` and `end` count from 0."""

    file: str
    lines: list[str]
    start: int
    end: int

    def tree(self, diagnostics: Diagnostics) -> Node | None:
        """The tree of these lines; DeclarationError where they are not YAML."""
        text = "\n".join(self.lines[self.start : self.end]) + "\n"
        events: list[Any] = []
        try:
            self._read(text, _Loader, events)
        except yaml.YAMLError as error:
            # libyaml and PyYAML word their errors differently: the words are always PyYAML's.
            raise self._syntax_error(text, error) from None
        return _Builder(self.file, self.lines, self.start, iter(events), diagnostics).document()

    def _read(self, text: str, loader: Any, events: list[Any]) -> None:
        """The tree is built and read by recursion, so its depth is bounded."""
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAXIMUM_DEPTH:
                mark: Any = event.start_mark
                span = Span(self.file, mark.line + 1 + self.start, mark.column + 1)
                raise DeclarationError.at(span, f"nested deeper than {MAXIMUM_DEPTH} levels")
            events.append(event)

    def _syntax_error(self, text: str, error: yaml.YAMLError) -> DeclarationError:
        events: list[Any] = []
        try:
            self._read(text, yaml.SafeLoader, events)
        except yaml.YAMLError as reworded:
            error = reworded
        if isinstance(error, yaml.MarkedYAMLError):
            last = events[-1] if events else None
            found = syntax_error(self.file, self.lines, error, self.start + 1, last)
            return DeclarationError([found])
        return DeclarationError.at(Span(self.file, self.start + 1, 1), f"YAML syntax: {error}")


def _characters_are_usual(file: str, lines: list[str], diagnostics: Diagnostics) -> bool:
    """Control characters and exotic line breaks would shift what follows, or hide what is meant."""
    before = len(diagnostics)
    for number, line in enumerate(lines, 1):
        if line.isprintable() or line.replace("\t", "").isprintable():
            continue
        for column, character in enumerate(line, 1):
            if character != "\t" and is_unusual(character):
                diagnostics.error(Span(file, number, column), _not_allowed(character))
    return len(diagnostics) == before


def is_unusual(character: str) -> bool:
    """Whether a character controls, or is invisible, or is half of another."""
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs")


def _not_allowed(character: str) -> str:
    return f"character U+{ord(character):04X} is not allowed in a declaration"


class _Builder:
    """Events -> tree, by recursive descent."""

    def __init__(
        self,
        file: str,
        lines: list[str],
        start: int,
        events: Iterator[Any],
        diagnostics: Diagnostics,
    ) -> None:
        self._file = file
        self._lines = lines
        self._start = start  # the line before the first one that was parsed
        self._events = events
        self._diagnostics = diagnostics

    def document(self) -> Node | None:
        """The only document of the stream."""
        root: Node | None = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents == 2:
                    message = "a second YAML document: a file holds one"
                    self._diagnostics.error(self._span(event), message, "remove the '---'")
            elif not isinstance(event, _FRAMES):
                node = self._node(event)
                root = node if documents == 1 else root
        empty = isinstance(root, Text) and not root.value and root.plain
        return None if empty else root

    def _node(self, event: Any) -> Node:
        self._reject_features(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event)
        return Text("", self._span(event))  # an alias, which has been reported

    def _reject_features(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            message = f"alias '*{event.anchor}': declarations have no anchors"
            self._diagnostics.error(self._span(event), message, "quote text that starts with '*'")
        elif event.anchor is not None:
            message = f"anchor '&{event.anchor}': declarations have no anchors"
            self._diagnostics.error(self._span(event), message, "quote text that starts with '&'")
        elif event.tag is not None:
            span = self._span(event)
            written = self._lines[span.line - 1][span.column - 1 :].split(maxsplit=1)[0]
            message = f"tag '{written}': declarations have no tags"
            self._diagnostics.error(span, message, "quote text that starts with '!'")

    def _sequence(self, start: Any) -> Sequence:
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event))
        return Sequence(tuple(items), self._whole(start, event))

    def _mapping(self, start: Any) -> Mapping:
        entries: dict[str, tuple[Text, Node]] = {}
        before = len(self._diagnostics)
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event)
            event = next(self._events)
            value = self._node(event)
            if isinstance(event, yaml.AliasEvent):
                continue
            if not isinstance(key, Text):
                self._diagnostics.error(key.span, "a key must be a name")
            elif key.value in entries:
                note = Note(entries[key.value][0].span, "first given here")
                self._diagnostics.error(key.span, f"duplicate key '{key.value}'", None, note)
            elif key.value == "<<" and key.plain:
                self._diagnostics.error(key.span, "merge key '<<': declarations have no anchors")
            else:
                entries[key.value] = (key, value)
        span = self._whole(start, event)
        if not start.flow_style and entries:
            span = next(iter(entries.values()))[0].span
        damaged = len(self._diagnostics) > before
        return Mapping(tuple(entries.values()), span, damaged)

    def _whole(self, start: Any, end: Any) -> Span:
        """From an opening bracket to the closing one, or to the end of its line."""
        span = self._span(start)
        first, last = start.start_mark, end.end_mark
        if not start.flow_style:
            return span
        if first.line == last.line:
            return replace(span, length=last.column - first.column)
        return replace(span, length=len(self._lines[span.line - 1].rstrip()) - first.column)

    def _scalar(self, event: Any) -> Text:
        found = self._text(event)
        for offset, character in enumerate(() if found.value.isprintable() else found.value):
            if character not in "\n\t" and is_unusual(character):
                self._diagnostics.error(found.at(offset), _not_allowed(character))
        return found

    def _text(self, event: Any) -> Text:
        line = event.start_mark.line + 1 + self._start
        column = event.start_mark.column + 1
        plain = event.style in (None, "")
        if not plain and event.style in "'\"":
            column += 1
        value: str = event.value
        width = max(len(value), 1)
        raw = self._lines[line - 1] if line <= len(self._lines) else ""
        if raw[column - 1 : column - 1 + len(value)] == value and event.style not in ("|", ">"):
            return Text(value, Span(self._file, line, column, width), plain=plain)
        segments = _align(self._lines, line, column, value, event.style or "")
        _, line, column = segments[0]
        span = Text(value, Span(self._file, line, column, width), segments).at(0, width)
        return Text(value, span, segments, plain)

    def _span(self, event: Any) -> Span:
        start, end = event.start_mark, event.end_mark
        length = end.column - start.column if end.line == start.line else 1
        line = start.line + 1 + self._start
        return Span(self._file, line, start.column + 1, max(length, 1))


def _align(
    lines: list[str], line: int, column: int, value: str, style: str
) -> tuple[tuple[int, int, int], ...]:
    """Where the parts of a scalar's value stand in the file: (offset, line, column) of each."""
    cursor = _Cursor(lines, line, column)
    if style in ("|", ">"):
        cursor.enter_block()
    segments: list[tuple[int, int, int]] = []
    expected = (-1, -1)
    for offset, character in enumerate(value):
        place = cursor.match(character, style)
        if place != expected:
            segments.append((offset, *place))
        expected = (place[0], place[1] + 1)
    return tuple(segments) or ((0, cursor.line, cursor.column),)


_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}


class _Cursor:
    """Walks the raw text of a scalar in step with its value."""

    def __init__(self, lines: list[str], line: int, column: int) -> None:
        self._lines = lines
        self.line = line
        self.column = column
        self._indentation: int | None = None  # of a block scalar, else any white space is skipped

    def _raw(self) -> str:
        return self._lines[self.line - 1] if self.line <= len(self._lines) else ""

    def enter_block(self) -> None:
        """Go from the block's header to its first character."""
        header = self._raw()[self.column :].split("#")[0]
        first = self.line + 1
        while first <= len(self._lines) and not self._lines[first - 1].strip():
            first += 1
        content = self._lines[first - 1] if first <= len(self._lines) else ""
        found = len(content) - len(content.lstrip(" "))
        digits = [int(c) for c in header if c.isdigit()]
        if digits:  # an explicit indicator counts from the parent's indentation
            parent = len(self._raw()) - len(self._raw().lstrip(" -"))
            found = min(found, parent + digits[0])
        self._indentation = found
        self._next_line()

    def match(self, character: str, style: str) -> tuple[int, int]:
        """The place of the next character of the value; the cursor moves behind it."""
        self._skip_folded(character)
        place = (self.line, self.column)
        rest = self._raw()[self.column - 1 :]
        if not rest or (style not in ("|", ">") and not rest.strip()):
            if character in "\n ":
                self._next_line()
            return place
        self.column += _width(rest, style)
        return place

    def _skip_folded(self, character: str) -> None:
        """Line breaks that folding removed from the value."""
        while self.line < len(self._lines):
            rest = self._raw()[self.column - 1 :]
            escaped_break = rest == "\\"
            if (rest.strip() and not escaped_break) or character in "\n ":
                return
            if rest and self._indentation is not None and rest[0] == character:
                return
            self._next_line()

    def _next_line(self) -> None:
        self.line += 1
        raw = self._raw()
        blank = len(raw) - len(raw.lstrip(" \t"))
        skipped = blank if self._indentation is None else min(blank, self._indentation)
        self.column = skipped + 1


def _width(rest: str, style: str) -> int:
    """How many raw characters stand for the next character of the value."""
    if style == "'" and rest.startswith("''"):
        return 2
    if style == '"' and rest.startswith("\\") and len(rest) > 1:
        return 2 + _ESCAPE_DIGITS.get(rest[1], 0)
    return 1
