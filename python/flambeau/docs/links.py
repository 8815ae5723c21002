"""Names in docstrings as links to where they are described."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import flambeau

# Code and formulas.
_APART = re.compile(r"^(`{3,}|\$\$)[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
# Code of its own: no text of a link, no role's.
_SPAN = re.compile(r"(?<![`\[}\w])`([A-Za-z_][\w.]*)(\(\))?`(?![`\]])")
# A class that is spoken of: "see Optimizer", "a DataLoader"; not "Normal numbers ...".
_SPOKEN = re.compile(
    r"\b((?:see|as|of|an?|the|by|than|with|or|and|each) )([A-Z][A-Za-z0-9]+)\b(?![`(.]\w)"
)
_CODE = re.compile(r"(`+).+?\1|\[[^\]]*\]\([^)]*\)", re.DOTALL)


@dataclass
class Targets:
    """What can be linked to."""

    homes: Mapping[int, str]  # id of a class -> "flambeau.nn.Linear"
    operators: Mapping[int, str]  # id of a function -> operator's page
    functions: dict[int, str] = field(default_factory=dict)  # id -> "flambeau.nn.init.zeros_"
    members: dict[str, list[str]] = field(default_factory=dict)  # of the classes

    def link(self, value: Any, shown: str) -> str | None:
        """To a class, function or operator that has a place; None for others."""
        if page := self.operators.get(id(value)):
            return f"[`{shown}`](../operators/{page}.md)"
        if home := self.homes.get(id(value)):
            return f"[`{shown}`](../library/{home}.md)"
        return role(shown, name) if (name := self.functions.get(id(value))) else None

    def member(self, cls: Any, name: str, shown: str) -> str | None:
        """To a method or attribute that a class has, or gets from a base."""
        for base in inspect.getmro(cls):
            home = self.homes.get(id(base))
            if home is not None and name in self.members.get(home, ()):
                return role(shown, f"{home}.{name}")
        return None


def role(shown: str, target: str) -> str:
    """A link to what stands on a page of several; code alone where it has no index."""
    if target.startswith("flambeau.legacy."):
        return f"`{shown}`"
    return f"{{py:obj}}`{shown} <{target}>`"


@dataclass
class Reader:
    """Links in the text about something: names are looked up from there."""

    targets: Targets
    module: ModuleType
    cls: type | None = None
    own: Any = None  # what is described, which is no link to itself

    def linked(self, markdown: str, arguments: Iterable[str] = ()) -> str:
        """The text with links.

        Args:
            arguments: names that mean something else here.
        """
        apart = frozenset(arguments)
        parts, end = [], 0
        for code in _APART.finditer(markdown):
            parts += [self._linked(markdown[end : code.start()], apart), code[0]]
            end = code.end()
        return "".join([*parts, self._linked(markdown[end:], apart)])

    def _linked(self, text: str, arguments: frozenset[str]) -> str:
        def replaced(span: re.Match[str]) -> str:
            if span[1] in arguments:
                return span[0]
            return self._link(span[1], span[0].strip("`"), bool(span[2])) or span[0]

        return self._with_classes(_SPAN.sub(replaced, text), apart=arguments)

    def _with_classes(self, text: str, apart: frozenset[str]) -> str:
        def replaced(word: re.Match[str]) -> str:
            value = _looked_up(self.module, word[2])
            if not inspect.isclass(value) or value is self.own or word[2] in apart:
                return word[0]
            return word[1] + (self.targets.link(value, word[2]) or word[2])

        parts, end = [], 0
        for code in _CODE.finditer(text):
            parts += [_SPOKEN.sub(replaced, text[end : code.start()]), code[0]]
            end = code.end()
        return "".join([*parts, _SPOKEN.sub(replaced, text[end:])])

    def _link(self, path: str, shown: str, is_called: bool) -> str | None:
        path = path.removeprefix("flambeau.")
        before, _, last = path.rpartition(".")
        if self.cls is not None and not before:
            found = self.targets.member(self.cls, last, shown)
            if found and (is_called or callable(getattr(self.cls, last, None))):
                return found
        for start in (self.module, flambeau):
            value = _looked_up(start, path)
            if value is None or value is self.own:
                continue
            if found := self.targets.link(value, shown):
                return found
            owner = _looked_up(start, before) if before else None
            if inspect.isclass(owner):
                return self.targets.member(owner, last, shown)
        return None


def _looked_up(start: Any, path: str) -> Any:
    for name in path.split("."):
        start = inspect.getattr_static(start, name, None)
        if isinstance(start, staticmethod | classmethod):
            start = start.__func__
    return start
