"""Comparing many cases, reducing what differs, reporting it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import parity_wanted
import torch
from fuzz_calls import prepare
from fuzz_supervisor import Tally, Task, run
from fuzz_worker import Channel, Finding
from parity_calls import Case, case, shared
from parity_compare import LIBRARIES, Missing
from parity_reduce import MEMORY, Differing, key, reduced
from parity_values import namespace

BATCH = 500
COUNTS = ("compared", "not in both", "other exceptions")


def report(options: argparse.Namespace) -> int:
    """Runs the cases; 1 where a difference is unexplained."""
    torch.set_num_threads(1)
    prepare()
    shared(options.ops)
    started = time.monotonic()

    def make(number: int) -> Case:
        return case(options.seed, number, options.ops)

    shown = [started]

    def progress(tally: Tally) -> None:
        if time.monotonic() > shown[0] + 15:
            shown[0] = time.monotonic()
            print(f"{tally.calls} calls: {dict(tally.kinds)}", file=sys.stderr, flush=True)

    task = Task(make, partial(compare_batch, exceptions=options.exceptions), MEMORY)
    numbers = range(options.first, options.first + options.calls)
    tally = run(task, numbers, options.jobs, BATCH, progress=progress)
    counts: Counter[str] = Counter()
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in tally.findings:
        if finding.kind == "counts":
            counts.update(json.loads(finding.detail))
        else:
            groups.setdefault(key(finding), []).append(finding)
    firsts = [min(group, key=lambda f: sum(map(len, f.statements))) for group in groups.values()]
    differing = [Differing(first, make(first.number)) for first in firsts]
    texts, worse = reduced(differing, options.jobs)
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    counted = zip(firsts, texts, map(len, groups.values()), strict=True)
    for finding, text, count in [*counted, *((f, "; ".join(f.statements), 1) for f in worse)]:
        line = {"name": finding.entry, "kind": finding.kind, "detail": finding.detail}
        # The detail is that of the case before it was made smaller.
        whole = "; ".join(finding.statements)
        one = lines.setdefault(
            (finding.entry, text), {**line, "text": text, "whole": whole, "count": 0}
        )
        one["count"] += count
    about = {
        "calls": tally.calls, "seed": options.seed, "seconds": round(time.monotonic() - started),
        **{name: counts.pop(name, 0) for name in COUNTS},
        "unexplained": sum(map(len, groups.values())), "torch": torch.__version__,
    }  # fmt: skip
    text = _readable(about, list(lines.values()), counts)
    print(text, end="")
    if options.report:
        data = {"about": about, "differences": list(lines.values())}
        options.report.write_text(json.dumps(data, indent=1), encoding="utf-8")
        options.report.with_suffix(".txt").write_text(text, encoding="utf-8")
    return 1 if lines else 0


def compare_batch(
    channel: Channel,
    write: Callable[[Finding], None],
    cases: Iterable[tuple[int, Case]],
    exceptions: bool,
) -> None:
    """Compares cases in a worker; what is wanted is only counted."""
    wanted = parity_wanted.load()
    counts: Counter[str] = Counter()
    np.seterr(all="ignore")
    for number, one in cases:
        channel.write(number, one.statements)
        try:
            difference = wanted.unexplained(one)
        except Missing:
            counts["not in both"] += 1
            continue
        counts["compared"] += 1
        channel.worked += 1
        if difference is None:
            continue
        if difference.kind == "exception":
            counts["other exceptions"] += 1
            if not exceptions:
                continue
        write(Finding(difference.kind, difference.detail, one.name, number, one.statements))
    write(Finding("counts", json.dumps({**counts, **wanted.used}), "", -1, ()))
    channel.write(-1, ())


def _readable(
    about: dict[str, object], lines: Iterable[dict[str, Any]], explained: Counter[str]
) -> str:
    parts = [", ".join(f"{name} {value}" for name, value in about.items())]
    parts.append('Lines run with `python tests/parity --show "LINE"`.')
    ordered = sorted(lines, key=lambda line: (_ORDER.index(line["kind"]), -line["count"]))
    for kind in _ORDER:
        of_kind = [line for line in ordered if line["kind"] == kind]
        if of_kind:
            parts.append(f"\n== {kind}: {len(of_kind)}")
        for line in of_kind:
            parts.append(
                f"{line['count']:5} {line['name']}: {line['detail']}\n      {line['text']}"
                + (f"\n      was: {line['whole']}" if line["whole"] != line["text"] else "")
            )
    if explained:
        parts.append("\n== explained")
        parts += [f"{count:5} {reason}" for reason, count in explained.most_common()]
    return "\n".join(parts) + "\n"


_ORDER = (
    *("signal", "exit", "hang", "sanitizer", "assertion"),
    *("value", "gradient", "second gradient", "dtype", "shape", "requires_grad"),
    *("refuses", "accepts", "exception"),
)  # fmt: skip


def show(text: str) -> int:
    """Prints what a line gives in both libraries."""
    for name, library in LIBRARIES.items():
        names = namespace(library)
        print(f"-- {name}")
        for statement in text.split("; "):
            try:
                exec(statement, names)
            except Exception as error:
                print(f"{statement}: {type(error).__name__}: {error}")
        print(
            {
                key: value
                for key, value in names.items()
                if key not in ("lib", "t", "__builtins__", "operator", "nan", "inf", "slice")
            }
        )
    os._exit(0)
