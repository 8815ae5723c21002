"""What every check is given, and how it says where in an entry a mistake is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flambeau.codegen.model.entries import Declarations, Operator
from flambeau.codegen.read import schema
from flambeau.codegen.read.loader import Loaded, Partial
from flambeau.codegen.text.source import Diagnostics, Note, Span


@dataclass(frozen=True, slots=True)
class Context:
    """The declarations to check, and what stands around them."""

    declarations: Declarations
    incomplete: frozenset[str] = frozenset()  # names declared by entries that did not load
    native: Path | None = None  # where kernel files are looked for; None: they are not
    partial: tuple[Partial, ...] = ()  # operators of which some keys could not be read
    files: frozenset[str] | None = None  # whose operators are checked; None: all
    kernels: frozenset[str] | None = None  # the kernel files of a package, which has one folder
    documented: bool = True  # whether operators must be described

    @property
    def checked(self) -> tuple[Operator, ...]:
        """The operators to check; the others are what they may refer to."""
        operators = self.declarations.own
        if self.files is None:
            return operators
        return tuple(o for o in operators if o.span.file in self.files)

    @classmethod
    def of(cls, loaded: Loaded, native: Path | None = None) -> Context:
        """What was loaded."""
        return cls(loaded.declarations, loaded.incomplete, native, loaded.partial)


class Report:
    """The mistakes of one operator."""

    def __init__(self, operator: Operator, diagnostics: Diagnostics) -> None:
        self.operator = operator
        self._diagnostics = diagnostics

    def error(
        self,
        message: str,
        *path: str,
        hint: str | None = None,
        key: bool = False,
        aside: bool = False,
    ) -> None:
        """A mistake at the value (or the key) that stands at `path` of the entry."""
        self.at(self.place(*path, key=key), message, hint, aside=aside)

    def at(
        self, span: Span, message: str, hint: str | None = None, *notes: Note, aside: bool = False
    ) -> None:
        """A mistake at a span."""
        message = f"{self.operator.full_name}: {message}"
        self._diagnostics.error(span, message, hint, *notes, aside=aside)

    def place(self, *path: str, key: bool = False) -> Span:
        """Where the value (or the key) at `path` stands, or the nearest thing to it."""
        entry = self.operator.entry
        if entry is None or not path or entry.get(path[0]) is None:
            return self.operator.span
        return schema.place(entry, *path, key=key) or self.operator.span
