"""Comparing many cases, reducing what differs, reporting it."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import parity_wanted
import torch
from fuzz_calls import prepare
from fuzz_reduce import inlined, smaller
from parity_calls import Case, case, shared
from parity_compare import LIBRARIES, Difference, Missing, compare
from parity_values import namespace

BATCH = 500
ATTEMPTS = 300


@dataclass(slots=True)
class Batch:
    """What a part of the cases came to."""

    numbers: range
    compared: int
    missing: int
    found: list[tuple[Case, Difference]]
    explained: Counter[str]
    exceptions: int


def report(options: argparse.Namespace) -> int:
    """Runs the cases; 1 where a difference is unexplained."""
    torch.set_num_threads(1)
    prepare()
    shared(options.ops)
    started = time.monotonic()
    numbers = range(options.first, options.first + options.calls)
    parts = [numbers[i : i + BATCH] for i in range(0, len(numbers), BATCH)]
    tasks = [(options.seed, part, options.ops, options.exceptions) for part in parts]
    batches: list[Batch] = []
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=8) as pool:
        for number, batch in enumerate(pool.imap_unordered(_batch, tasks)):
            batches.append(batch)
            if number % 20 == 19:
                unexplained = sum(len(b.found) for b in batches)
                print(f"{(number + 1) * BATCH} calls, {unexplained} unexplained", file=sys.stderr)
        groups: dict[tuple[str, str, str], list[tuple[Case, Difference]]] = {}
        for batch in batches:
            for one, difference in batch.found:
                groups.setdefault(_key(one, difference), []).append((one, difference))
        firsts = [min(group, key=lambda pair: len(pair[0].text)) for group in groups.values()]
        reduced = pool.map(_reduced, firsts, chunksize=1)
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for group, (one, difference), text in zip(groups.values(), firsts, reduced, strict=True):
        entry = lines.setdefault(
            (one.name, text),
            {"name": one.name, **asdict(difference), "text": text, "count": 0},
        )
        entry["count"] += len(group)
    about = {
        "calls": options.calls, "seed": options.seed, "seconds": round(time.monotonic() - started),
        "compared": sum(b.compared for b in batches),
        "PyTorch has not": sum(b.missing for b in batches),
        "other exceptions": sum(b.exceptions for b in batches),
        "unexplained": sum(len(b.found) for b in batches), "torch": torch.__version__,
    }  # fmt: skip
    explained = sum((b.explained for b in batches), Counter())
    text = _readable(about, list(lines.values()), explained)
    print(text, end="")
    if options.report:
        data = {"about": about, "differences": list(lines.values())}
        options.report.write_text(json.dumps(data, indent=1), encoding="utf-8")
        options.report.with_suffix(".txt").write_text(text, encoding="utf-8")
    return 1 if lines else 0


def _batch(task: tuple[int, range, str, bool]) -> Batch:
    seed, numbers, pattern, exceptions = task
    wanted = parity_wanted.load()
    batch = Batch(numbers, 0, 0, [], wanted.used, 0)
    np.seterr(all="ignore")
    for number in numbers:
        one = case(seed, number, pattern)
        try:
            difference = compare(one)
        except Missing:
            batch.missing += 1
            continue
        batch.compared += 1
        if difference is None:
            continue
        if difference.kind == "exception":
            batch.exceptions += 1
            if not exceptions:
                continue
        if not wanted.explains(one.name, difference.kind, difference.detail, one.text):
            batch.found.append((one, difference))
    return batch


def _key(one: Case, difference: Difference) -> tuple[str, str, str]:
    detail = difference.detail if difference.kind in ("refuses", "accepts", "exception") else ""
    return one.name, difference.kind, detail


# Reducing ----------------------------------------------------------------------------------------


def _reduced(pair: tuple[Case, Difference]) -> str:
    """The shortest statements that still differ in that way."""
    one, difference = pair
    left = ATTEMPTS
    until = time.monotonic() + 20

    def shows(statements: list[str]) -> bool:
        nonlocal left
        left -= 1
        if left < 0 or time.monotonic() > until or not statements:
            return False
        try:
            found = compare(replace(one, statements=tuple(statements)))
        except Exception:
            return False
        if found is None or found.kind != difference.kind:
            return False
        return _key(one, found) == _key(one, difference)

    statements = list(one.statements)
    progress = True
    while progress and left > 0 and time.monotonic() < until:
        progress = False
        for candidate in smaller(statements, plain=False):
            if shows(candidate):
                statements = candidate
                progress = True
                break
    left = 50
    return "; ".join(inlined(statements, shows, bare=False))


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
            )
    if explained:
        parts.append("\n== explained")
        parts += [f"{count:5} {reason}" for reason, count in explained.most_common()]
    return "\n".join(parts) + "\n"


_ORDER = (
    "value", "gradient", "second gradient", "dtype", "shape", "requires_grad", "refuses", "accepts",
    "exception",
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
