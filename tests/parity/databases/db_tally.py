"""What was found: counts and first failures by entry and category, and the causes of failures."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

# What a case comes to: `wanted` differs for a reason that is written down, `skipped` cannot be
# asked, `missing` is a name that Flambeau does not have.
OUTCOMES = ("pass", "fail", "missing", "wanted", "skipped")


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of an entry that is run at once; `number`: the entry's place in its database."""

    database: str
    number: int
    name: str
    part: str
    dtype: str = ""


@dataclass(slots=True)
class Failure:
    """A mistake and the shortest call that shows it."""

    symptom: str
    call: str
    expected: str
    got: str
    count: int = 1


@dataclass(slots=True)
class Part:
    """What a unit came to in one category."""

    database: str
    entry: str
    category: str
    dtype: str
    counts: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)  # names
    wanted: dict[str, int] = field(default_factory=dict)  # reasons


@dataclass(slots=True)
class Cause:
    """Failures with one symptom."""

    symptom: str
    count: int = 0
    entries: set[str] = field(default_factory=set)
    categories: Counter[str] = field(default_factory=Counter)
    example: str = ""


# A mistake with one dtype of a kind is mostly one with all of them.
_KINDS = (
    (r"\bu?int(8|16|32|64)\b", "integers"),
    (r"\bcomplex(64|128)\b", "complex"),
    (r"\bb?float16\b", "halves"),
    (r"not (int|float|bool|complex)\b", "not a number"),
)


def symptom(text: str, entry: str) -> str:
    """A message without what varies: the entry's name, numbers, dtypes of a kind, what was
    expected instead.
    """
    words = sorted(set(re.split(r"[.\[\] ]", entry)) | {entry.split("[")[0]}, key=len, reverse=True)
    for word in words:
        if len(word) > 1:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}_?(?![A-Za-z0-9])", "OP", text)
    text = re.sub(r"\bOP(\.OP)+", "OP", text)
    text = re.sub(r"^(\w+: )[\w.]+(\(\))?: ", r"\1OP: ", text)
    text = re.sub(r"(?<![A-Za-z0-9])-?\d+(\.\d+)?(e[+-]?\d+)?", "N", text)
    for words, kind in _KINDS:
        text = re.sub(words, kind, text)
    text = re.sub(r"[\[(](N(, )?)*,?[\])]", "[..]", text)
    text = re.sub(r"(expected one of|available|it has|expected) .*", r"\1 ...", text)
    return text[:140]


def state(counts: dict[str, int]) -> str:
    """One word for a category of an entry."""
    for outcome in ("fail", "missing", "pass", "wanted"):
        if counts.get(outcome):
            return outcome
    return "skipped"


def by_entry(parts: Iterable[Part]) -> dict[str, dict[str, list[Part]]]:
    """Parts by entry and category."""
    found: dict[str, dict[str, list[Part]]] = {}
    for part in parts:
        found.setdefault(part.entry, {}).setdefault(part.category, []).append(part)
    return found


def summed(parts: Iterable[Part]) -> dict[str, int]:
    """The counts of several parts together."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.counts)
    return dict(counts)


def causes(parts: Iterable[Part]) -> list[Cause]:
    """What is behind the failures, the most frequent by entries first."""
    found: dict[str, Cause] = defaultdict(lambda: Cause(""))
    for part in parts:
        for failure in part.failures:
            key = symptom(failure.symptom, part.entry)
            if re.match(r"value|dtype|strides|shape|structure", key):
                key = f"{part.category}: {key}"
            cause = found[key]
            cause.symptom = key
            cause.count += failure.count
            cause.entries.add(part.entry)
            cause.categories[part.category] += failure.count
            line = f"{failure.call}: expected {failure.expected}, got {failure.got}"
            if not cause.example or len(line) < len(cause.example):
                cause.example = line
    return sorted(found.values(), key=lambda c: (-len(c.entries), -c.count, c.symptom))


def missing_names(parts: Iterable[Part]) -> dict[str, set[str]]:
    """Every name that was missed, with the entries that ask for it."""
    found: dict[str, set[str]] = {}
    for part in parts:
        for name in part.missing:
            found.setdefault(name, set()).add(part.entry)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))
