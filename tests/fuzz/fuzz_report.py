"""Findings, each once and reduced, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz_calls import Program
from fuzz_judge import ADVICE, KINDS
from fuzz_reduce import Reducer
from fuzz_supervisor import Tally
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
    tally: Tally, make: Callable[[int], Program], reduce: bool, advice: bool, most: int = 400
) -> list[Line]:
    """Every finding once, the worst first."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in tally.findings:
        if advice or finding.kind not in ADVICE:
            groups.setdefault(finding.key, []).append(finding)
    ordered = sorted(groups.values(), key=lambda group: (KINDS.index(group[0].kind), -len(group)))
    found = []
    for rank, group in enumerate(ordered):
        first = min(group, key=lambda finding: sum(map(len, finding.statements)))
        plain = "; ".join(first.statements)
        text = plain if first.kind in ADVICE else None
        if reduce and rank < most and text is None:
            text = Reducer(first, make(first.number).words).run()
        elif text is None:
            text = plain
        found.append(
            Line(
                first.kind, first.entry, first.detail, len(group), first.number,
                text or plain, text is not None,
            )
        )  # fmt: skip
    return found


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
