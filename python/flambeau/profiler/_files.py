"""Profiles as files that other programs draw."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from flambeau.profiler import _flame
from flambeau.profiler._events import FunctionEvent, MemoryEvent

_CATEGORIES = {"call": "cpu_op", "engine": "cpu_op", "range": "user_annotation"}


def write_chrome_trace(
    path: str | os.PathLike[str],
    events: Iterable[FunctionEvent],
    memory: Iterable[MemoryEvent],
    metadata: dict[str, Any],
) -> None:
    """A trace for chrome://tracing and Perfetto: the JSON of the Trace Event Format (Google,
    2016). A path that ends in ".gz" is compressed."""
    process = os.getpid()
    trace = [_complete(event, process) for event in events]
    in_use = 0
    for change in memory:
        in_use += change.bytes
        trace.append(_counter(change, in_use, process))
    text = json.dumps({"traceEvents": trace, "displayTimeUnit": "ns", **metadata})
    if Path(path).suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")


def _complete(event: FunctionEvent, process: int) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if event.input_shapes:
        told["Input Dims"] = [list(shape) for shape in event.input_shapes]
    if event.allocated_bytes or event.freed_bytes:
        told |= {"Allocated": event.allocated_bytes, "Freed": event.freed_bytes}
    if event.stack:
        told["Call stack"] = ";".join(event.stack)
    return {
        "ph": "X",
        "cat": _CATEGORIES.get(event.kind, event.kind),
        "name": event.name,
        "pid": process,
        "tid": event.thread,
        "ts": event.start,
        "dur": event.cpu_time_total,
        "args": told,
    }


def _counter(change: MemoryEvent, in_use: int, process: int) -> dict[str, Any]:
    return {
        "ph": "C",
        "name": "Memory of tensors",
        "pid": process,
        "ts": change.time,
        "args": {"bytes": in_use},
    }


def write_stacks(
    path: str | os.PathLike[str], events: Sequence[FunctionEvent], metric: str
) -> None:
    """Stacks for flame graphs: "outermost;...;innermost microseconds", a line for each stack; or
    the picture, where the path ends in ".svg"."""
    times: dict[_flame.Stack, float] = {}
    for event in events:
        if event.stack:
            stack = (*reversed(event.stack), event.name)
            times[stack] = times.get(stack, 0) + getattr(event, metric)
    if Path(path).suffix == ".svg":
        text = _flame.draw(times)
    else:
        # What separates frames is in none, and a number ends a line.
        text = "".join(
            f"{';'.join(frame.replace(';', ',') for frame in stack)} {round(time)}\n"
            for stack, time in times.items()
            if round(time) > 0
        )
    Path(path).write_text(text, encoding="utf-8")
