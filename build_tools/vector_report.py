"""Lists the loops that are marked `#pragma omp simd` and that the compiler made no vectors of.

`python -m build_tools.vector_report [FILE ...] [--set avx512]` compiles every .cpp of native/ with
such loops, in it or in the headers that it includes, for AVX2 and AVX-512, and reads what the
compiler says of them. `--partly` also lists loops that are scalar in some instances of a template
only: of elements that have no vectors, mostly. A loop that it says nothing of, because it is
written out whole or not compiled, is not counted. It takes two minutes of a processor per set; a
build of the library comes first, for the headers that are generated. Exit status: 0, 1 where loops
stayed scalar or an error came.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from build_tools.build import ROOT
from build_tools.shared.compiler import (
    BuildError,
    compiler_name,
    find_compiler,
    find_python_headers,
)
from build_tools.shared.compiling import (
    COMMON_FLAGS,
    ELEMENTS,
    LOOPS,
    OPTIMIZED,
    cpp_files,
    include_flags,
)
from build_tools.shared.instruction_sets import flags_of

SETS = ("avx2", "avx512")
_PRAGMA = re.compile(r"^\s*#\s*pragma\s+omp\s+simd\b")
_REMARK = re.compile(
    r"^(?P<file>[^:\s]+):(?P<line>\d+):\d+: (?P<kind>optimized|missed):(?P<text>.*)"
)


@dataclass(frozen=True)
class Loop:
    """A marked loop: lines [first, last] of a file, from the pragma to the end of the body."""

    file: Path
    first: int
    last: int


@dataclass
class Remarks:
    """What the compiler said of a loop's instances, under one set of flags."""

    vectors: int = 0
    scalars: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def is_scalar(self) -> bool:
        return self.vectors == 0 and self.scalars > 0

    @property
    def reason(self) -> str:
        found = self.reasons.most_common(1)
        return found[0][0] if found else "the compiler gives no reason"


def marked_loops(file: Path) -> Iterator[Loop]:
    """The marked loops of a file. A body ends with its brace, or its statement."""
    lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if _PRAGMA.match(line):
            yield Loop(file, number, number + _statement("\n".join(lines[number:])))


def _statement(text: str) -> int:
    """How many lines the `for` that a text begins with has."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "({") - (letter in ")}")
        if depth == 0 and letter in ";}":
            return text.count("\n", 0, place) + 1
    return text.count("\n") + 1


def remarks_of(output: Iterable[str], loops: Iterable[Loop], root: Path) -> dict[Loop, Remarks]:
    """What is said of each loop that is instanced at all. The compiler names a line of the body."""
    place: dict[tuple[Path, int], Loop] = {}
    for loop in loops:
        for line in range(loop.first, loop.last + 1):
            place[loop.file, line] = loop
    found: dict[Loop, Remarks] = {}
    for text in output:
        remark = _REMARK.match(text)
        if remark is None:
            continue
        file = Path(os.path.normpath(root / remark["file"]))
        at = place.get((file, int(remark["line"])))
        if at is None:
            continue
        one = found.setdefault(at, Remarks())
        message = remark["text"].strip()
        if remark["kind"] == "optimized":
            one.vectors += message.startswith("loop vectorized")
        elif message == "couldn't vectorize loop":
            one.scalars += 1
        elif message.startswith("not vectorized: "):
            one.reasons[message.removeprefix("not vectorized: ")] += 1
    return found


def flags_for(source: Path, instruction_set: str) -> str:
    """Those that the build compiles a source with."""
    if not source.name.endswith(".simd.cpp"):
        return OPTIMIZED
    chosen = flags_of("x86_64")[instruction_set]
    return f"{LOOPS} {ELEMENTS} -DFLAMBEAU_ISA={instruction_set} {chosen}"


def said_of(source: Path, flags: str, root: Path = ROOT) -> list[str]:
    """What the compiler says of the loops of a source.

    Raises:
        BuildError: where it does not compile.
    """
    compiler = find_compiler(compiler_name()).split()[-1]
    native = root / "native"
    given = native / "cpu" / "precompiled.h"
    further = f" -include {given}" if source.name.endswith(".simd.cpp") and given.exists() else ""
    includes = include_flags((native, root / "build" / "generated"), (find_python_headers(),))
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        command = (
            f"{compiler} {COMMON_FLAGS} -w {includes} {flags}{further} "
            f"-fopt-info-vec-optimized-missed={said} -S -o {folder}/out.s {source}"
        )
        process = subprocess.run(
            command, shell=True, check=False, cwd=root, capture_output=True, text=True
        )
        if process.returncode != 0:
            raise BuildError(f"{source} does not compile:\n{process.stderr}")
        return said.read_text(encoding="utf-8").splitlines()


def sources(root: Path) -> list[Path]:
    """Those with marked loops, or compiled once per instruction set: these are in headers too."""
    found = cpp_files(root / "native" / "cpu")
    return [file for file in found if file.name.endswith(".simd.cpp") or any(marked_loops(file))]


def report(files: Sequence[Path], sets: Sequence[str], root: Path = ROOT) -> dict[str, Remarks]:
    """By "file:line (set)": what became of each marked loop that the files compile."""
    marked = [*cpp_files(root / "native"), *sorted((root / "native").rglob("*.h")), *files]
    loops = {loop for file in marked for loop in marked_loops(file)}
    tasks = [
        (file, name)
        for file in files
        for name in (sets if file.name.endswith(".simd.cpp") else ("plain",))
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = pool.map(lambda task: said_of(task[0], flags_for(*task), root), tasks)
        found: dict[str, Remarks] = {}
        for (_, name), output in zip(tasks, outputs, strict=True):
            for loop, one in remarks_of(output, loops, root).items():
                shown = loop.file.relative_to(root) if root in loop.file.parents else loop.file
                all_of_it = found.setdefault(f"{shown}:{loop.first} ({name})", Remarks())
                all_of_it.vectors += one.vectors
                all_of_it.scalars += one.scalars
                all_of_it.reasons += one.reasons
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m build_tools.vector_report", description=__doc__
    )
    parser.add_argument("files", nargs="*", type=Path, help="sources (default: all of native/cpu)")
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="default: both")
    parser.add_argument("--partly", action="store_true", help="also loops scalar in some instances")
    options = parser.parse_args()
    files = [file.resolve() for file in options.files] or sources(ROOT)
    try:
        found = report(files, options.sets or SETS)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    scalar = {place: one for place, one in found.items() if one.is_scalar}
    for place, one in sorted(found.items()):
        if place in scalar or (options.partly and one.scalars):
            print(f"{place}: {one.scalars} scalar, {one.vectors} of vectors: {one.reason}")
    print(f"{len(found) - len(scalar)} of {len(found)} marked loops became vectors")
    return 1 if scalar else 0


if __name__ == "__main__":
    sys.exit(main())
