"""Twenty checks, taken away all at once: calls must find out about each.

In a build for fuzzing, FLAMBEAU_REMOVED_CHECK=FILE:LINE,... takes a check() away, or the condition
of an `if (FLAMBEAU_UNLIKELY(...))`. What guards memory, time or messages is then a hole. Each
finding is tried again with some of the checks back, until it is known which one prevents it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CALLS = 10_000  # tried before what they found is looked at


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
    Hole("native/cpu/nn/ctc.simd.cpp", "check(sample.labels[i] >= 0"),
    Hole("native/core/tensor/views_part.cpp", "check(split_size > 0"),
    Hole("native/cpu/blocks.h", "static_cast<uint64_t>(value) >= static_cast<uint64_t>(size)"),
    Hole("native/cpu/blocks.h", "if (FLAMBEAU_UNLIKELY(value < -size || value >= size))"),
    Hole("native/cpu/index/gather.cpp", "check(d == dim || index.size(d) <= tensor.size(d)"),
    Hole("native/cpu/index/scatter.cpp", "size_of_dim(index, d) <= size_of_dim(self, d)"),
    Hole("native/cpu/index/scatter.cpp", "size_of_dim(index, d) <= size_of_dim(*src, d)"),
    Hole("native/cpu/sort/bincount.cpp", "check(weights.sizes() == self.sizes()"),
    Hole("native/cpu/index/masked.cpp", "check(count <= source.numel()"),
    Hole("native/cpu/index/one_hot.cpp", "check(classes[i] >= 0 && classes[i] < num_classes"),
    Hole("native/cpu/nn/taps.cpp", "check(signs >> 63"),
    Hole(
        "native/cpu/nn/embedding.cpp", "static_cast<uint64_t>(row) >= static_cast<uint64_t>(rows_)"
    ),
    Hole("native/cpu/nn/nll.cpp", "check((values[i] >= 0 && values[i] < classes)"),
    Hole("native/cpu/shape/repeated_indices.cpp", "check(count[i] >= 0"),
    Hole("native/cpu/creation/multinomial.cpp", "check(is_full()"),
)


def main(seed: int, first: int, calls: int, pattern: str = "") -> int:
    """Takes away the checks of files that match; 1 where one of them is not missed."""
    if "FLAMBEAU_REMOVED_CHECK" in os.environ:
        raise SystemExit("FLAMBEAU_REMOVED_CHECK is set: a check is taken away already")
    chosen = [hole for hole in HOLES if re.search(pattern, hole.file)]
    left = list(chosen)
    for start in range(first, first + calls, CALLS):
        shown = _findings(seed, range(start, min(start + CALLS, first + calls)), left)
        while shown:
            number, text = shown.popitem()
            hole = _prevents(seed, number, left)
            if hole is not None:
                left.remove(hole)
                print(f"{hole.place}: call {number}  {text[:140]}", flush=True)
                shown = _findings(seed, shown, left)
        if not left:
            break
    for hole in left:
        print(f"{hole.place}: not in {calls} calls")
    print(f"{len(chosen) - len(left)} of {len(chosen)} holes were found")
    return 1 if left else 0


def _prevents(seed: int, number: int, holes: list[Hole]) -> Hole | None:
    """The check without which alone this call is a finding, by halves."""
    while len(holes) > 1:
        half = len(holes) // 2
        holes = holes[:half] if _findings(seed, [number], holes[:half]) else holes[half:]
    found = _findings(seed, [number], holes) and not _findings(seed, [number], [])
    return holes[0] if found else None


def _findings(seed: int, numbers: Collection[int], holes: list[Hole]) -> dict[int, str]:
    """What a run reports, by the number of the call."""
    if not numbers:
        return {}
    if isinstance(numbers, range):
        which = ["--first", str(numbers.start), "--calls", str(len(numbers))]
    else:
        which = ["--only", ",".join(map(str, numbers))]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, str(ROOT / "tests" / "fuzz"), "--seed", str(seed), *which]
        removed = ",".join(hole.place for hole in holes)
        process = subprocess.run(
            [*command, "--no-reduce", "--report", str(report)],
            env={**os.environ, "FLAMBEAU_REMOVED_CHECK": removed},
            check=False,
            capture_output=True,
            text=True,
        )
        if not report.exists():
            raise SystemExit(f"the fuzzer itself failed:\n{process.stderr[-4000:]}")
        findings: list[dict[str, Any]] = json.loads(report.read_text())["findings"]
    return {int(found["number"]): f"{found['kind']}: {found['text']}" for found in findings}
