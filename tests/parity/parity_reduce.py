"""Making cases smaller that differ: in workers, because a smaller case may end the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from fuzz_reduce import inlined, smaller
from fuzz_supervisor import Task, run
from fuzz_worker import Channel, Finding
from parity_calls import Case
from parity_wanted import load

ATTEMPTS = 300
SECONDS = 8.0
MEMORY = 4 << 30


@dataclass(frozen=True, slots=True)
class Differing:
    """A finding and the case that showed it."""

    finding: Finding
    case: Case

    @property
    def name(self) -> str:
        return self.finding.entry


def key(finding: Finding) -> tuple[str, str, str]:
    """What makes two differences the same."""
    by_detail = finding.kind in ("refuses", "accepts", "exception")
    return finding.entry, finding.kind, finding.detail if by_detail else ""


def reduced(found: Sequence[Differing], jobs: int) -> tuple[list[str], list[Finding]]:
    """A short text for each; and what ended a process on the way, which is worse than any."""
    tally = run(Task(lambda number: found[number], _reduce, MEMORY), range(len(found)), jobs, 1)
    best = {number: one.finding.statements for number, one in enumerate(found)}
    worse: list[Finding] = []
    for finding in tally.findings:
        if key(finding) == key(found[finding.number].finding):
            best[finding.number] = finding.statements
        else:
            worse.append(finding)
    return ["; ".join(statements) for statements in best.values()], worse


def _reduce(
    channel: Channel,
    write: Callable[[Finding], None],
    programs: Iterable[tuple[int, Differing]],
) -> None:
    """Writes every case that is smaller than the last and differs in the same way."""
    wanted = load()
    for number, one in programs:
        channel.write(number, one.case.statements)
        if one.finding.kind == "signal":
            continue
        left = ATTEMPTS
        until = time.monotonic() + SECONDS

        def shows(statements: list[str], number: int = number, one: Differing = one) -> bool:
            nonlocal left
            left -= 1
            if left < 0 or time.monotonic() > until or not statements:  # noqa: B023
                return False
            channel.write(number, statements)
            try:
                difference = wanted.unexplained(replace(one.case, statements=tuple(statements)))
            except Exception:
                return False
            if difference is None:
                return False
            found = Finding(difference.kind, difference.detail, one.name, number, tuple(statements))
            if key(found) != key(one.finding):
                return False
            write(found)
            return True

        statements = list(one.case.statements)
        progress = True
        while progress and left > 0:
            progress = False
            for candidate in smaller(statements, plain=False):
                if shows(candidate):
                    statements = candidate
                    progress = True
                    break
        left = 40
        inlined(statements, shows, bare=False)
    channel.write(-1, ())
