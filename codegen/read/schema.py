"""Typed reading of located nodes: each helper converts one, or says what it should have been."""

from __future__ import annotations

import math
import re
from collections.abc import Collection

from flambeau.codegen.model.reserved import is_name, name_problem
from flambeau.codegen.text.source import (
    DeclarationError,
    Diagnostics,
    Note,
    Span,
    Text,
    did_you_mean,
    one_of,
)
from flambeau.codegen.text.tree import Mapping, Node, Sequence

_LONGEST_INTEGER = 18
_NULLS = ("", "~", "null", "Null", "NULL")
_NUMBER = re.compile(r"[+-]?(inf|nan|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)")
_FIELD = re.compile(r"\{\{|\}\}|[{}]")


def describe(node: Node) -> str:
    """What a node is, for messages."""
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    return "nothing" if is_null(node) else "text"


def is_null(node: Node) -> bool:
    """Whether a node is YAML's null: written so, without quotes, or left empty."""
    return isinstance(node, Text) and node.plain and node.value in _NULLS


def text(node: Node, what: str) -> Text:
    """A string that is not empty."""
    if not isinstance(node, Text) or is_null(node):
        hint = None
        if isinstance(node, Mapping | Sequence):
            hint = "quote text that starts with [ or {, or that holds ': '"
        raise DeclarationError.at(node.span, f"{what} must be text, not {describe(node)}", hint)
    if not node.value.strip():
        raise DeclarationError.at(node.span, f"{what} is empty")
    return node


def name(node: Node, what: str) -> Text:
    """An identifier."""
    found = text(node, what)
    if not is_name(found.value):
        raise DeclarationError.at(found.span, f"{what} must be a name, not '{found.value}'")
    return found


def new_name(node: Node, what: str) -> Text:
    """An identifier that something may be called by in Python and C++."""
    found = text(node, what)
    problem = name_problem(found.value)
    if problem is not None:
        raise DeclarationError.at(found.span, f"{what} cannot be so: {problem}")
    return found


def choice(node: Node, what: str, choices: Collection[str]) -> Text:
    """One of a few words."""
    found = text(node, what)
    if found.value not in choices:
        message = f"{what} '{found.value}' is unknown; expected {one_of(choices)}"
        raise DeclarationError.at(found.span, message, did_you_mean(found.value, choices))
    return found


def boolean(node: Node, what: str) -> bool:
    """`true` or `false`: YAML's yes, on and the like are not taken."""
    return choice(node, what, ("true", "false")).value == "true"


def integer(node: Node, what: str) -> int:
    """A decimal integer."""
    found = text(node, what)
    if not re.fullmatch(r"[+-]?(0|[1-9][0-9]*)", found.value):
        raise DeclarationError.at(found.span, f"{what} must be an integer, not '{found.value}'")
    if len(found.value) > _LONGEST_INTEGER:
        raise DeclarationError.at(found.span, f"{what} is an integer of more than 64 bits")
    return int(found.value)


def number(node: Node, what: str) -> float:
    """A number in Python's spelling; inf and nan are numbers too."""
    found = text(node, what)
    if not _NUMBER.fullmatch(found.value):
        raise DeclarationError.at(found.span, f"{what} must be a number, not '{found.value}'")
    value = float(found.value)
    if math.isinf(value) and "inf" not in found.value:
        message = f"{what} is too large for a float"
        raise DeclarationError.at(found.span, message, "write inf")
    return value


def sequence(node: Node, what: str) -> tuple[Node, ...]:
    """The items of a list."""
    if not isinstance(node, Sequence):
        hint = "write [a, b]" if isinstance(node, Text) else None
        raise DeclarationError.at(node.span, f"{what} must be a list, not {describe(node)}", hint)
    return node.items


def mapping(node: Node, what: str) -> Mapping:
    """A mapping."""
    if not isinstance(node, Mapping):
        hint = "write {key: value}" if isinstance(node, Text) else None
        message = f"{what} must be a mapping, not {describe(node)}"
        raise DeclarationError.at(node.span, message, hint)
    return node


def names(node: Node, what: str) -> tuple[Text, ...]:
    """A list of identifiers without duplicates."""
    found = tuple(name(item, f"an entry of {what}") for item in sequence(node, what))
    first: dict[str, Text] = {}
    for item in found:
        earlier = first.setdefault(item.value, item)
        if earlier is not item:
            note = Note(earlier.span, "first given here")
            message = f"'{item.value}' is given twice in {what}"
            raise DeclarationError.at(item.span, message, None, note)
    return found


def choices(node: Node, what: str, allowed: Collection[str]) -> frozenset[str]:
    """A list of words out of a few."""
    items = sequence(node, what)
    return frozenset(choice(item, f"an entry of {what}", allowed).value for item in items)


def check_keys(
    node: Mapping,
    what: str,
    allowed: Collection[str],
    required: Collection[str],
    diagnostics: Diagnostics,
    aside: bool = False,
) -> None:
    """Report keys that `what` does not have, and keys that it misses."""
    for key, _ in node.entries:
        if key.value not in allowed:
            hint = did_you_mean(key.value, allowed) or f"{what} has {one_of(sorted(allowed))}"
            diagnostics.error(key.span, f"unknown key '{key.value}' in {what}", hint, aside=aside)
    for missing in required:
        if node.key(missing) is None:
            diagnostics.error(node.span, f"{what} has no '{missing}'", aside=aside)


def source_text(node: Node, what: str) -> str:
    """A value of the sample language; YAML lists stand for lists."""
    if isinstance(node, Sequence):
        return f"[{', '.join(source_text(item, what) for item in node.items)}]"
    return text(node, what).value


def template_parts(message: Text) -> tuple[str | Text, ...]:
    """Split `text {expression} text`; {{ and }} stand for braces."""
    parts: list[str | Text] = []
    literal = ""
    position = 0
    opened: int | None = None
    for match in _FIELD.finditer(message.value):
        mark = match[0]
        if opened is None:
            literal += message.value[position : match.start()]
            position = match.end()
            if mark == "}":
                hint = "write }} for a brace"
                raise DeclarationError.at(message.at(match.start()), "'}' without a '{'", hint)
            if mark == "{":
                opened = match.start()
                parts.append(literal)
                literal = ""
            else:
                literal += mark[0]
        elif mark == "}":
            parts.append(message.slice(opened + 1, match.start()))
            position = match.end()
            opened = None
        else:
            raise DeclarationError.at(message.at(match.start()), f"'{mark}' inside a field")
    if opened is not None:
        raise DeclarationError.at(message.at(opened), "'{' is not closed", "write {{ for a brace")
    parts.append(literal + message.value[position:])
    return tuple(part for part in parts if part != "")


def place(node: Node | None, *path: str, key: bool = False) -> Span | None:
    """Where the value (or the key) at `path` stands; the nearest part of the path that exists."""
    span = node.span if node is not None else None
    for index, step in enumerate(path):
        last = index == len(path) - 1
        if isinstance(node, Mapping):
            found = node.key(step)
            if found is None:
                return span
            span = found.span
            node = node.get(step)
            if node is not None and not (last and key):
                span = node.span
        elif isinstance(node, Sequence) and step.isdigit() and int(step) < len(node.items):
            node = node.items[int(step)]
            span = node.span
        else:
            return span
    return span
