"""`$name` in the text of a definition -> what a use gives for the name, each character located."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from flambeau.codegen.text import tree
from flambeau.codegen.text.source import DeclarationError, Span, Text, did_you_mean, one_of
from flambeau.codegen.text.tree import Node

_PARAMETER = re.compile(r"\$([A-Za-z_]\w*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Composed(Text):
    """Text out of pieces that stand in different places."""

    pieces: tuple[tuple[int, Text], ...] = ()  # each with the offset that it begins at

    def at(self, offset: int, length: int = 1) -> Span:
        """The span of characters, clipped to the piece that they begin in."""
        start, piece = self.pieces[self._index(offset)]
        inside = min(offset - start, len(piece.value))
        return piece.at(inside, min(length, len(piece.value) - inside))

    def slice(self, start: int, end: int) -> Text:
        """The part from `start` to `end`, located."""
        first, last = self._index(start), self._index(max(end - 1, start))
        if first == last:
            begin, piece = self.pieces[first]
            return piece.slice(start - begin, end - begin)
        found = []
        for begin, piece in self.pieces[first : last + 1]:
            inside = piece.slice(max(start - begin, 0), min(end - begin, len(piece.value)))
            found.append(inside)
        return composed(found, found[0].span)

    def _index(self, offset: int) -> int:
        found = bisect_right(self.pieces, offset, key=lambda piece: piece[0]) - 1
        return min(max(found, 0), len(self.pieces) - 1)


def composed(parts: list[Text], span: Span) -> Text:
    """One text out of several, which keep their places; as a whole it stands at `span`."""
    kept = [part for part in parts if part.value]
    if len(kept) < 2:
        return kept[0] if kept else parts[0]
    pieces, offset = [], 0
    for part in kept:
        pieces.append((offset, part))
        offset += len(part.value)
    return Composed("".join(p.value for p in kept), span, (), False, tuple(pieces))


def _mentioned(node: Node) -> Iterator[Text]:
    """The parameters that a definition mentions: `$name`, or a `$` that nothing follows."""
    if isinstance(node, Text):
        for match in _PARAMETER.finditer(node.value):
            yield node.slice(*match.span())
        return
    values = node.items if isinstance(node, tree.Sequence) else [v for _, v in node.entries]
    for value in values:
        yield from _mentioned(value)


def check_parameters(
    node: Node, names: Collection[str], whose: str, hint: str | None = None
) -> set[str]:
    """The names of the parameters that a definition mentions.

    Raises:
        DeclarationError: one is not among `names`.
    """
    mentioned = set[str]()
    for place in _mentioned(node):
        name = place.value[1:]
        if name not in names:
            near = did_you_mean(name, names) or hint or f"there is {one_of(names)}"
            message = f"'{place.value}' is no parameter of {whose}"
            raise DeclarationError.at(place.span, message, near)
        mentioned.add(name)
    return mentioned


def substituted(node: Node, values: Mapping[str, Text], used: Span) -> Node:
    """A definition with the values that a use gives; what stays says where it is used."""
    return _mapped(node, used, lambda text: _filled(text, values))


def as_used(node: Node, used: Span) -> Node:
    """What entries share, which has no parameters, as it stands where one of them takes it."""
    return _mapped(node, used, lambda text: text)


def _mapped(node: Node, used: Span, changed: Callable[[Text], Text]) -> Node:
    span = replace(node.span, used=used)
    if isinstance(node, tree.Sequence):
        items = tuple(_mapped(item, used, changed) for item in node.items)
        return replace(node, items=items, span=span)
    if isinstance(node, tree.Mapping):
        entries = tuple((_used(k, used), _mapped(v, used, changed)) for k, v in node.entries)
        return replace(node, entries=entries, span=span)
    return changed(_used(node, used))


def _used(text: Text, used: Span) -> Text:
    span = text.span
    span = Span(span.file, span.line, span.column, span.length, used)
    return Text(text.value, span, text.segments, text.plain)


def _filled(text: Text, values: Mapping[str, Text]) -> Text:
    parts: list[Text] = []
    start = 0
    for match in _PARAMETER.finditer(text.value):
        parts += [text.slice(start, match.start()), values[match[1]]]
        start = match.end()
    return composed([*parts, text.slice(start, len(text.value))], text.span) if parts else text
