"""Twenty checks, taken away one at a time: calls must find out about each.

In a build for fuzzing, FLAMBEAU_REMOVED_CHECK=FILE:LINE takes a check() away, or the condition of
an `if (FLAMBEAU_UNLIKELY(...))`. What guards memory, time or messages is then a hole.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CALLS = 100_000


@dataclass(frozen=True, slots=True)
class Hole:
    """`text` stands in one line of `file`: that of the check."""

    file: str
    text: str

    @property
    def place(self) -> str:
        lines = (ROOT / self.file).read_text(encoding="utf-8").splitlines()
        found = [number for number, line in enumerate(lines, 1) if self.text in line]
        if len(found) != 1:
            raise SystemExit(f"{self.file}: {len(found)} lines with {self.text!r}, expected one")
        return f"{self.file}:{found[0]}"


HOLES = (
    Hole("native/core/geometry/arguments.h", "given < -limit || given >= limit"),
    Hole("native/core/tensor/tensor.cpp", "check(reach(sizes, strides, offset, lowest, highest)"),
    Hole("native/core/tensor/storage_growth.cpp", "check(pins_.load"),
    Hole("native/core/geometry/broadcast.cpp", "check(broadcastable(a, b)"),
    Hole("native/core/geometry/shape_rules.cpp", "check(window.stride > 0"),
    Hole("native/cpu/index/advanced.cpp", "check(first + rank <= self.sizes().size()"),
    Hole("native/core/tensor/views_part.cpp", "check(split_size > 0"),
    Hole("native/cpu/blocks.h", "static_cast<uint64_t>(value) >= static_cast<uint64_t>(size)"),
    Hole("native/cpu/blocks.h", "if (FLAMBEAU_UNLIKELY(value < -size || value >= size))"),
    Hole("native/cpu/index/gather.cpp", "check(d == dim || index.size(d) <= tensor.size(d)"),
    Hole("native/cpu/index/scatter.cpp", "size_of_dim(index, d) <= size_of_dim(self, d)"),
    Hole("native/cpu/index/scatter.cpp", "size_of_dim(index, d) <= size_of_dim(*src, d)"),
    Hole("native/cpu/sort/bincount.cpp", "check(weights.sizes() == self.sizes()"),
    Hole("native/cpu/index/masked.cpp", "check(count <= source.numel()"),
    Hole("native/cpu/index/one_hot.cpp", "check(classes[i] >= 0 && classes[i] < num_classes"),
    Hole("native/cpu/sort/bincount.cpp", "check(least >= 0"),
    Hole("native/cpu/nn/embedding.cpp", "check(values[i] >= 0 && values[i] < rows"),
    Hole("native/cpu/nn/nll.cpp", "check((values[i] >= 0 && values[i] < classes)"),
    Hole("native/cpu/shape/repeated_indices.cpp", "check(count[i] >= 0"),
    Hole("native/cpu/creation/multinomial.cpp", "check(is_full()"),
)


def main(seed: int, pattern: str = "") -> int:
    """Plants those whose file matches, in turn; 1 where one is not found."""
    if "FLAMBEAU_REMOVED_CHECK" in os.environ:
        raise SystemExit("FLAMBEAU_REMOVED_CHECK is set: a check is taken away already")
    missed = 0
    holes = [hole for hole in HOLES if re.search(pattern, hole.file)]
    for hole in holes:
        started = time.monotonic()
        shown = _first_shown(hole, seed)
        missed += shown is None
        what = f"not in {CALLS} calls" if shown is None else shown
        print(f"{hole.place}: {time.monotonic() - started:.0f} s  {what[:140]}", flush=True)
    print(f"{len(holes) - missed} of {len(holes)} holes were found")
    return 1 if missed else 0


def _first_shown(hole: Hole, seed: int) -> str | None:
    """The first finding that the check, where it is in place, prevents."""
    first = 0
    while first < CALLS:
        report = _findings(seed, first, CALLS - first, hole)
        numbers = [int(finding["number"]) for finding in report]
        for finding in report:
            if not _findings(seed, int(finding["number"]), 1):
                return f"{finding['kind']}: {finding['text']}"
        first = max(numbers, default=CALLS) + 1
    return None


def _findings(seed: int, first: int, calls: int, hole: Hole | None = None) -> list[dict[str, Any]]:
    """What a run reports, up to the first findings."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, str(ROOT / "tests" / "fuzz"), "--seed", str(seed)]
        command += ["--first", str(first), "--calls", str(calls), "--first-only", "--no-reduce"]
        environment = {**os.environ, "FLAMBEAU_REMOVED_CHECK": hole.place} if hole else None
        subprocess.run(
            [*command, "--report", str(report)],
            env=environment,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        findings: list[dict[str, Any]] = json.loads(report.read_text())["findings"]
        return findings
