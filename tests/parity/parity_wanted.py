"""Differences that are wanted, with their reasons: the files wanted*.yaml."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from parity_calls import Case
from parity_compare import Difference, Missing, compare

_MAIN = "flambeau."
FILES = ("wanted.yaml", "wanted_functions.yaml", "wanted_numerics.yaml")
CRASH = "crash"  # the kind of what PyTorch must not run: it writes outside its memory


@dataclass(frozen=True, slots=True)
class Rule:
    """A difference is wanted where every pattern that the rule has is found."""

    reason: str
    name: re.Pattern[str]
    kind: re.Pattern[str]
    detail: re.Pattern[str]
    text: re.Pattern[str]
    ends: bool

    def matches(self, name: str, kind: str, detail: str, text: str) -> bool:
        """What holds of a method holds of the function of its name, and of all its overloads."""
        method = name.replace("flambeau.special.", _MAIN).replace(_MAIN, "Tensor.")
        names = (name, method, name.split("[")[0], method.split("[")[0])
        return (
            any(self.name.fullmatch(n) is not None for n in names)
            and self.kind.fullmatch(kind) is not None
            and self.detail.search(detail) is not None
            and self.text.search(text) is not None
        )


@dataclass(slots=True)
class Wanted:
    """All rules, and how often each one applied."""

    rules: tuple[Rule, ...]
    used: Counter[str] = field(default_factory=Counter)

    def explaining(self, name: str, kind: str, detail: str, text: str) -> Rule | None:
        """The rule that applies first; it is counted."""
        for rule in self.rules:
            if rule.matches(name, kind, detail, text):
                self.used[rule.reason] += 1
                return rule
        return None

    def unexplained(self, case: Case) -> Difference | None:
        """The first difference of a case that no rule explains.

        Raises:
            Missing: where a library does not have what the case asks for, or must not run it.
        """
        if self.explaining(case.name, CRASH, "", case.text):
            raise Missing("PyTorch itself writes outside its memory")
        for found in compare(case):
            rule = self.explaining(case.name, found.kind, found.detail, case.text)
            if rule is None:
                return found
            if rule.ends:
                return None
        return None


def load(folder: Path = Path(__file__).parent, names: Sequence[str] = FILES) -> Wanted:
    """The rules of all files."""
    return Wanted(tuple(rule for name in names for rule in _rules(folder / name)))


def _rules(path: Path) -> Iterator[Rule]:
    """A file's rules; an unknown key is an error."""
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
        patterns = {key: re.compile(str(entry.pop(key, ".*")), re.S) for key in _KEYS}
        reason, ends = entry.pop("reason"), entry.pop("ends", False)
        if entry:
            raise ValueError(f"{path}: unknown keys {sorted(entry)}")
        yield Rule(reason, **patterns, ends=ends)


_KEYS = ("name", "kind", "detail", "text")
