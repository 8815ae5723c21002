"""Sample sets and errors that have a name, and perhaps parameters:

- samples: layouts(x)                    - error: same_shape(a, b)
  calls:                                   require: "$a.shape == $b.shape"
    - $x(3, 4)                             message: "$a has shape {$a.shape}, $b {$b.shape}"
    - $x(4, 3).T                           rejects: $a=randn(2), $b=randn(3)

Those of common.yaml serve every file, others their own file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flambeau.codegen.read import schema
from flambeau.codegen.read.expand.calls import Use, parse_use
from flambeau.codegen.read.expand.substitution import check_parameters, substituted
from flambeau.codegen.text import tree
from flambeau.codegen.text.source import (
    DeclarationError,
    Diagnostics,
    Note,
    Text,
)
from flambeau.codegen.text.tree import Node

SAMPLES, ERROR = "samples", "error"  # the first keys of definitions
SAMPLES_KEYS = (SAMPLES, "calls")
ERROR_KEYS = (ERROR, "require", "raise", "once", "message", "rejects")
_COMMON = "common"


@dataclass(frozen=True, slots=True)
class Definition:
    """A sample set or an error, with its parameters."""

    name: Text
    parameters: tuple[str, ...]
    body: Node | None  # None: it has mistakes

    def filled(self, use: Use) -> Node:
        """The body with the values that a use gives.

        Raises:
            DeclarationError: they do not fit; without a diagnostic where the definition has any.
        """
        if self.body is None:
            raise DeclarationError([])
        if len(use.arguments) != len(self.parameters):
            spelled = f"{self.name.value}({', '.join(self.parameters)})"
            expected = spelled if self.parameters else self.name.value
            note = Note(self.name.span, "defined here")
            message = (
                f"'{use.name.value}' is given {len(use.arguments)} arguments; it is {expected}"
            )
            raise DeclarationError.at(use.name.span, message, None, note)
        values = dict(zip(self.parameters, use.arguments, strict=True))
        return substituted(self.body, values, use.name.span)


Table = dict[str, Definition]


@dataclass(frozen=True, slots=True)
class Scope:
    """The definitions that the entries of one file see, nearest first."""

    tables: tuple[Mapping[str, Table], ...] = ()

    def find(self, kind: str, name: str) -> Definition | None:
        """The definition of a sample set or an error."""
        found = (table[kind].get(name) for table in self.tables)
        return next((definition for definition in found if definition is not None), None)

    def names(self, kind: str) -> list[str]:
        """What is defined."""
        return sorted({name for table in self.tables for name in table[kind]})


@dataclass(frozen=True, slots=True)
class Definitions:
    """All that is defined, by file; shared files come in the order in which they are searched."""

    of_file: dict[str, dict[str, Table]] = field(default_factory=dict)

    def add(self, entry: tree.Mapping, diagnostics: Diagnostics) -> None:
        """Read a definition; mistakes are collected."""
        kind = entry.entries[0][0].value
        with diagnostics.collecting():
            use = _head(entry)
            body: Node | None = None
            with diagnostics.collecting():
                body = _calls(entry, use) if kind == SAMPLES else _requirement(entry, use)
            names = tuple(name.value for name in use.arguments)
            found = Definition(use.name, names, body)
            tables = self.of_file.setdefault(entry.span.file, {SAMPLES: {}, ERROR: {}})
            earlier = tables[kind].setdefault(use.name.value, found)
            if earlier is not found:
                note = Note(earlier.name.span, "first defined here")
                message = f"'{use.name.value}' is defined twice"
                raise DeclarationError.at(use.name.span, message, None, note)

    def scope(self, file: str) -> Scope:
        """What the entries of a file see: its own definitions, then those of the shared files."""
        files = dict.fromkeys((file, *(f for f in self.of_file if Path(f).stem == _COMMON)))
        return Scope(tuple(self.of_file[f] for f in files if f in self.of_file))


def _head(entry: tree.Mapping) -> Use:
    """NAME or NAME(a, b)."""
    key, head = entry.entries[0]
    text = schema.text(head, f"'{key.value}'")
    use = parse_use(text)
    if use is None:
        raise DeclarationError.at(text.span, f"'{text.value}' is no NAME and no NAME(a, b)")
    for name in use.arguments:
        schema.name(name, "a parameter")
    return use


def _calls(entry: tree.Mapping, use: Use) -> Node:
    """The samples of a set."""
    _check_keys(entry, "a sample set", SAMPLES_KEYS, ("calls",))
    calls = entry.get("calls")
    assert calls is not None
    for item in schema.sequence(calls, "'calls'"):
        schema.text(item, "a sample")
    _check_parameters(use, calls)
    return calls


def _requirement(entry: tree.Mapping, use: Use) -> Node:
    """What an error requires and says, and what it rejects."""
    _check_keys(entry, "an error", ERROR_KEYS, ("require", "message", "rejects"))
    body = tree.Mapping(entry.entries[1:], entry.span)
    _check_parameters(use, body)
    return body


def _check_keys(
    entry: tree.Mapping, what: str, allowed: Iterable[str], required: Iterable[str]
) -> None:
    own = Diagnostics()
    schema.check_keys(entry, what, tuple(allowed), tuple(required), own)
    own.raise_if_any()


def _check_parameters(use: Use, body: Node) -> None:
    """Every `$name` is a parameter, and every parameter is mentioned."""
    names = [name.value for name in use.arguments]
    hint = None if names else "write NAME(a, b) to have parameters"
    mentioned = check_parameters(body, names, f"'{use.name.value}'", hint)
    for name in use.arguments:
        if name.value not in mentioned:
            raise DeclarationError.at(name.span, f"the parameter '{name.value}' is not used")
