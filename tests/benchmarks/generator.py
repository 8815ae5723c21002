"""What working on declarations costs: the generator for any number of operators, the checks, and
the way from an edit to its result.

`python tests/benchmarks/generator.py` times the generator; with `--loop` also edits of this tree,
which it builds and puts back as it was.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ACTIVATION = ROOT / "declarations" / "pointwise" / "activation.yaml"

# Seconds, on two cores.
GENERATOR_TARGET = {600: 2.0}
CHECK_TARGET, EDIT_TARGET, NEW_TARGET = 3.0, 10.0, 15.0

# The shares of kinds are about those of the library; 25 operators to a family.
KINDS = ("pointwise", "composite", "structured", "composite", "pointwise", "view", "pointwise")
PER_FAMILY = 25


def synthetic_folder(parent: Path, count: int) -> Path:
    """The library's declarations, and operators up to `count` of them."""
    from flambeau.codegen.text.folders import default_folder

    folder = parent / f"declarations_{count}" / "declarations"
    shutil.copytree(default_folder(), folder)
    add_operators(folder, parent / "native", count)
    return folder


def add_operators(folder: Path, native: Path, count: int) -> None:
    """What `ops new` makes, until the folder has so many; kernels go into `native`."""
    from flambeau.codegen.read.loader import load_declarations
    from flambeau.codegen.write.files import Texts

    kinds = cycle(KINDS)
    for index in range(len(load_declarations(folder).operators), count):
        name, family, kind = f"synthetic_{index}", f"synthetic_{index // PER_FAMILY}", next(kinds)
        kernel = Path(family, f"{name}.cpp")
        values = {"name": name, "short": name, "identifier": name, "family": family}
        texts = Texts()
        texts.render(f"new/{kind}.yaml.jinja", "entry", **values, kernel=kernel)
        room = folder / "synthetic"
        room.mkdir(exist_ok=True)
        with (room / f"{family}.yaml").open("a", encoding="utf-8") as file:
            file.write(texts.files["entry"] + "\n")
        if kind == "structured":
            texts.render("new/structured.cpp.jinja", "kernel", **values)
            path = native / "cpu" / kernel
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts.files["kernel"], encoding="utf-8")


@dataclass(frozen=True)
class Took:
    """A process: what the clock says, and what the processor worked."""

    seconds: float
    processor: float
    output: str


def timed(*arguments: object, cwd: Path = ROOT, **environment: str) -> Took:
    """Runs Python; its failure is the end."""
    before, start = os.times(), time.perf_counter()
    process = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds, after = time.perf_counter() - start, os.times()
    if process.returncode != 0:
        raise SystemExit(process.stdout[-2000:] + process.stderr[-2000:])
    worked = after.children_user + after.children_system
    worked -= before.children_user + before.children_system
    return Took(seconds, worked, process.stdout)


def best(*arguments: object, rounds: int = 3) -> Took:
    """The fastest of some rounds: other programs only add."""
    return min((timed(*arguments) for _ in range(rounds)), key=lambda took: took.seconds)


def report(what: str, took: Took, target: float | None = None, more: str = "") -> None:
    verdict = "" if target is None else f" (target {target:g} s)"
    print(f"{what}: {took.seconds:.2f} s{verdict}, {took.processor:.2f} s of processor{more}")


def _compared(folder: Path, *options: object) -> Took:
    """Emitting where all is there already, which it does not know."""
    from flambeau.codegen.write.files import STATE

    (folder / STATE).unlink()
    took = timed("-m", "flambeau.codegen", "emit", folder, *options)
    assert ": 0 files changed" in took.output
    return took


def time_generator(counts: list[int]) -> None:
    """Whole processes, from the start of Python: the first run writes, the second compares."""
    emit = ("-m", "flambeau.codegen", "emit")
    with tempfile.TemporaryDirectory() as temporary:
        parent = Path(temporary)
        for count in counts:
            folder = synthetic_folder(parent, count)
            options = ("--declarations", folder)
            timed(*emit, parent / str(count), *options)
            rounds = (_compared(parent / str(count), *options) for _ in range(3))
            again = min(rounds, key=lambda took: took.seconds)
            report(f"emit, {count} operators", again, GENERATOR_TARGET.get(count))
            checked = best("-m", "flambeau.codegen", "check", "--no-kernels", *options)
            report(f"check, {count} operators", checked)


# The loop -----------------------------------------------------------------------------------------


@contextmanager
def edited(old: str, new: str) -> Iterator[None]:
    """The tree with one edit, which is taken back at the end, and built."""
    before = ACTIVATION.read_text(encoding="utf-8")
    if old not in before:
        raise SystemExit(f"{ACTIVATION} does not hold {old!r}, which this benchmark edits")
    try:
        ACTIVATION.write_text(before.replace(old, new, 1), encoding="utf-8")
        yield
    finally:
        ACTIVATION.write_text(before, encoding="utf-8")
        build()


def build() -> int:
    """Builds; how many files were compiled."""
    return len(re.findall(r"\] compile ", timed("-m", "build_tools.build").output))


def shown(program: str) -> float:
    """The number that a program prints with the library that was built."""
    package = ROOT / "build" / "release" / "package"
    code = f"import flambeau; print({program}.item())"
    return float(timed("-c", code, cwd=package, PYTHONPATH=str(package)).output)


def time_loop() -> None:
    """From an edit to the number that it changes."""
    build()
    formula = 'expr: "self * sigmoid(self)"'
    silu = "flambeau.nn.functional.silu(flambeau.ones(1))"
    with edited(formula, formula.replace('sigmoid(self)"', 'sigmoid(self) + 1"')):
        _time_edit("edit of a pointwise formula", silu, 1.7310586, EDIT_TARGET)
    operator = 'benchmarked(Tensor self) -> Tensor result"\n  kind: pointwise\n'
    entry = f'- op: "{operator}  dtypes: {{self: float}}\n  expr: "self * self + 1"\n'
    entry += "  derivative: auto\n  summary: A square and one.\n\n"
    with edited("- op:", f"{entry}- op:"):
        new = "flambeau.benchmarked(flambeau.full([1], 3.0))"
        _time_edit("new pointwise operator", new, 10.0, NEW_TARGET)
    with edited("summary: ", "notes: More words.\n  summary: "):
        _time_edit("edit of words", silu, 0.7310586, None)


def _time_edit(what: str, program: str, expected: float, target: float | None) -> None:
    before, start = os.times(), time.perf_counter()
    compiled = build()
    found = shown(program)
    seconds, after = time.perf_counter() - start, os.times()
    if abs(found - expected) > 1e-4:
        raise SystemExit(f"{what}: the result is {found}, expected {expected}")
    worked = after.children_user + after.children_system
    worked -= before.children_user + before.children_system
    report(what, Took(seconds, worked, ""), target, f", {compiled} files compiled")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loop", action="store_true", help="also time edits of this tree")
    parser.add_argument("--operators", type=int, nargs="*", default=[440, 600, 1200])
    options = parser.parse_args()
    time_generator(options.operators)
    report("check of the tree", best("-m", "flambeau.codegen", "check"), CHECK_TARGET)
    if options.loop:
        time_loop()


if __name__ == "__main__":
    main()
