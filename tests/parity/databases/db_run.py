"""Runs the parts of all entries in children: what ends or holds one is a finding of its entry."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any
from unittest import mock

import db_modules
import db_operators
import db_optimizers
import numpy as np
import torch
from db_book import Book, reset, said
from db_compare import Difference
from db_gradients import gradients
from db_lent import lend
from db_promotion import promotion
from db_tally import Failure, Part, Unit
from fuzz_supervisor import Tally, Task, run
from fuzz_worker import Channel, Finding
from parity_wanted import Wanted

import flambeau

BATCH = 200
MEMORY = 4 << 30
_HARNESS = "harness"
_OPERATORS: dict[str, Callable[[Any, Book], None]] = {
    "first": db_operators.first,
    "dtype": db_operators.other,
    "reference": db_operators.reference,
    "errors": db_operators.errors,
    "gradient": gradients,
    "promotion": promotion,
}


def every_unit() -> list[Unit]:
    """The parts of all entries of the three databases."""
    return [*db_operators.units(), *db_modules.units(), *db_optimizers.units()]


def judged(units: Sequence[Unit], jobs: int, wanted: Wanted) -> list[Part]:
    """Runs units in children."""
    torch.set_num_threads(1)
    flambeau.set_num_threads(1)
    np.seterr(all="ignore")
    lend()
    shown = [time.monotonic()]

    def progress(tally: Tally) -> None:
        if time.monotonic() > shown[0] + 15:
            shown[0] = time.monotonic()
            print(f"{tally.calls} of {len(units)} parts", file=sys.stderr, flush=True)

    task = Task(lambda number: units[number], partial(_judge_some, wanted=wanted), MEMORY)
    gc.freeze()
    # A seed is for this processor alone: for others PyTorch keeps the stack of every call.
    with mock.patch.object(torch, "manual_seed", torch.default_generator.manual_seed):
        tally = run(task, range(len(units)), jobs, BATCH, progress=progress)
    return [_part(finding, units) for finding in tally.findings]


def _judge_some(
    channel: Channel,
    write: Callable[[Finding], None],
    programs: Iterable[tuple[int, Unit]],
    wanted: Wanted,
) -> None:
    """The body of a child."""
    for number, unit in programs:
        reset()
        channel.write(number, [_HARNESS, "making samples"])
        book = Book(unit, number, channel, write, wanted)
        try:
            _judge(unit, book)
        except Exception as error:
            words = f"{said(error)} where {unit.part} of {unit.dtype} is made"
            book.fail(_HARNESS, unit.part, Difference(words, "samples", said(error)))
        book.flush()
    channel.write(-1, ())


def _judge(unit: Unit, book: Book) -> None:
    if unit.database == "op_db":
        entry = db_operators.database()[unit.number]
        book.form = getattr(entry, "has_nondeterministic_output", False)
        _OPERATORS[unit.part](entry, book)
    elif unit.database == "module_db":
        db_modules.judge(unit, book)
    else:
        db_optimizers.judge(unit, book)


def _part(finding: Finding, units: Sequence[Unit]) -> Part:
    """What a child wrote, or how it ended."""
    if finding.kind == "part":
        fields = json.loads(finding.detail)
        fields["failures"] = [Failure(**failure) for failure in fields["failures"]]
        return Part(**fields)
    unit = units[finding.number]
    category, call = (*finding.statements, _HARNESS, "")[:2]
    words = f"{finding.kind}: {finding.detail}"
    failure = Failure(words, f"{unit.dtype} {call}", "a result", words)
    return Part(unit.database, unit.name, category, unit.dtype, {"fail": 1}, [failure])
