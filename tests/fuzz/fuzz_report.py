"""Findings, each once and reduced, as text and as JSON."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fuzz_calls import Program
from fuzz_judge import ADVICE, KINDS
from fuzz_reduce import Reducer
from fuzz_supervisor import Tally
from fuzz_values import STRANGE
from fuzz_worker import Finding


@dataclass(frozen=True, slots=True)
class Line:
    """A finding of a report."""

    kind: str
    entry: str
    detail: str
    count: int
    number: int  # of the first program that showed it
    text: str  # reduced
    alone: bool  # whether the program shows it in a process of its own

    def __str__(self) -> str:
        remark = "" if self.alone else "   (not in a process of its own)"
        return f"{self.count:5} {self.entry}: {self.detail}{remark}\n      {self.text}"


def lines(
    tally: Tally, make: Callable[[int], Program], jobs: int, reduce: bool, advice: bool
) -> list[Line]:
    """Every finding once, the worst first."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in tally.findings:
        if advice or finding.kind not in ADVICE:
            groups.setdefault(finding.key, []).append(finding)
    ordered = sorted(groups.values(), key=lambda group: (KINDS.index(group[0].kind), -len(group)))
    firsts = [min(group, key=lambda f: sum(map(len, f.statements))) for group in ordered]
    tasks = [
        (first, make(first.number).words, reduce and first.kind not in ADVICE) for first in firsts
    ]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        texts = pool.starmap(_reduced, tasks, chunksize=1)
    found: dict[tuple[str, str, str], Line] = {}
    for group, first, text in zip(ordered, firsts, texts, strict=True):
        plain = "; ".join(first.statements)
        line = Line(
            first.kind, first.entry, first.detail, len(group), first.number,
            text or plain, text is not None,
        )  # fmt: skip
        key = _cause(line)
        same = found.get(key)
        found[key] = replace(same, count=same.count + len(group)) if same else line
    return list(found.values())


def _reduced(finding: Finding, words: Sequence[str], reduce: bool) -> str | None:
    return Reducer(finding, words).run() if reduce else "; ".join(finding.statements)


def _cause(line: Line) -> tuple[str, str, str]:
    """Lines with one hostile value at several operators are one; so are equal lines."""
    hostile = next((text for text in _SPOILERS if text in line.text), "")
    if hostile and line.kind in ("signal", "sanitizer", "hang", "exception", "growth"):
        return line.kind, hostile, ""
    return line.kind, line.text, line.detail if line.kind in ADVICE else ""


_SPOILERS = tuple(sorted((text for text in STRANGE if len(text) >= 8), key=len, reverse=True))


def readable(found: list[Line], about: Mapping[str, object]) -> str:
    """The report as text."""
    parts = [", ".join(f"{name} {value}" for name, value in about.items())]
    parts.append("Lines run after `from fuzz_prelude import *` in tests/fuzz.")
    for kind in KINDS:
        of_kind = [line for line in found if line.kind == kind]
        if of_kind:
            parts.append(f"\n== {kind}: {len(of_kind)}")
            parts += map(str, of_kind)
    return "\n".join(parts) + "\n"


def write(path: Path, found: list[Line], about: Mapping[str, object]) -> None:
    """PATH as JSON, and beside it the same as text."""
    data = {"about": dict(about), "findings": [asdict(line) for line in found]}
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    path.with_suffix(".txt").write_text(readable(found, about), encoding="utf-8")
