"""Builds and runs the C++ tests: every tests/native/test_*.cpp, in a process of its own.

`python -m build_tools.native_tests [NAME ...]` builds what changed first. Tests are linked with the
objects of what is written by hand in native/, not with libflambeau.so, which hides what is
internal: those that are wanted together, as a program under sanitizers has 190 MB. A *.simd.cpp is
built once for each instruction set that the library is. Benchmarks in C++ run when they are named.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from build_tools.build import ROOT, prepare
from build_tools.ninja_file import internal_archive
from build_tools.object_cache import compile_environment
from build_tools.processor import built_instruction_sets, runnable_instruction_sets
from build_tools.shared.compiler import BuildError, find_ninja
from build_tools.shared.compiling import ELEMENTS, LOOPS
from build_tools.shared.instruction_sets import flags_of
from build_tools.shared.lock import exclusive
from build_tools.shared.ninja_writer import NinjaWriter

Command = list[str]


@dataclass(frozen=True)
class Program:
    """A file of tests, or a benchmark; `instruction_set` is empty for a source that is compiled
    once, `flags` are the set's.
    """

    source: Path
    instruction_set: str = ""
    flags: str = ""

    @property
    def name(self) -> str:
        stem = self.source.name.removesuffix(".cpp").removesuffix(".simd")
        return f"{stem}.{self.instruction_set}" if self.instruction_set else stem

    @property
    def measures(self) -> bool:
        """Whether it is a benchmark."""
        return self.source.parent.name == "benchmarks"


def programs(root: Path = ROOT, sets: Mapping[str, str] | None = None) -> list[Program]:
    """The tests of some instruction sets, with their flags: by default, of those that this
    processor can run with this build's loops.
    """
    if sets is None:
        built = built_instruction_sets()
        sets = {name: flags_of()[name] for name in runnable_instruction_sets() if name in built}
    found = []
    for source in sorted((root / "tests" / "native").glob("test_*.cpp")):
        if source.name.endswith(".simd.cpp"):
            found += [Program(source, name, flags) for name, flags in sets.items()]
        else:
            found.append(Program(source))
    return found


def benchmarks(root: Path = ROOT) -> list[Program]:
    """Programs that measure."""
    return [Program(source) for source in sorted((root / "tests" / "benchmarks").glob("*.cpp"))]


def write_tests(
    folder: Path, wanted: Sequence[Program], sanitize: str | None = None, further: str = ""
) -> dict[Program, Command]:
    """Writes tests.ninja beside the library's build.ninja, which it includes; returns what runs
    each. `further`: flags.
    """
    writer = NinjaWriter()
    writer.line(f"include {folder / 'build.ninja'}")
    archive = internal_archive(folder)
    writer.rule(
        "program",
        command=(
            "$linker $link_flags -o $out $in "
            f"-Wl,--whole-archive {archive} -Wl,--no-whole-archive "
            "$math_libraries -pthread"
        ),
        description="link $out",
    )

    def compile_(program: Program) -> str:
        found = f"{folder / 'objects' / 'tests' / program.name}.o"
        # Loops are tested as they are shipped; the tests around them need not be fast.
        shipped = program.instruction_set or program.measures
        level = LOOPS if shipped and not sanitize else "-O1"
        extra = f"{level} -DFLAMBEAU_TESTS={program.name} {further}".strip()
        if program.instruction_set:
            extra += f" {ELEMENTS} -DFLAMBEAU_ISA={program.instruction_set} {program.flags}"
        writer.build(found, "compile", [str(program.source)], variables={"extra": extra})
        return found

    def link(name: str, objects: list[str]) -> str:
        found = str(folder / "tests" / name)
        writer.build(found, "program", objects, implicit=[str(archive)])
        return found

    commands = {p: [link(p.name, [compile_(p)])] for p in wanted if p.measures}
    tests = [program for program in wanted if not program.measures]
    if tests:
        # One test has a program of its own: beside that of all, which it would otherwise replace.
        name = tests[0].name if len(tests) == 1 else "together"
        runner = Program(ROOT / "tests" / "native" / "main.cpp")
        together = link(name, [compile_(runner), *map(compile_, tests)])
        commands |= {program: [together, program.name] for program in tests}
    writer.write(folder / "tests.ninja")
    return commands


def build_programs(
    folder: Path,
    wanted: Sequence[Program],
    sanitize: str | None = None,
    jobs: int | None = None,
    further: str = "",
) -> dict[Program, Command]:
    """Compiles and links; the library must have been built in this folder. The result is what runs
    each. `further`: flags of them.
    """
    if not (folder / "build.ninja").exists():
        raise BuildError(f"No library was built in {folder}: run `python -m build_tools.build`.")
    ninja = find_ninja()
    with exclusive(folder):
        commands = write_tests(folder, wanted, sanitize, further)
        targets = sorted({executable for executable, *_ in commands.values()})
        command = [ninja, "-f", str(folder / "tests.ninja"), "-k", "20", *targets]
        if jobs:
            command += ["-j", str(jobs)]
        environment = compile_environment(ROOT)
        process = subprocess.run(
            command, env=environment, check=False, capture_output=True, text=True
        )
    if process.returncode != 0:
        raise BuildError(f"The native tests do not build.\n{process.stdout}{process.stderr}")
    return commands


def run_program(
    command: Command, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs one; what it printed, both streams together, is in `stdout`."""
    return subprocess.run(
        command,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environment or {})},
    )


def failures(
    commands: Mapping[Program, Command],
    jobs: int | None = None,
    environment: dict[str, str] | None = None,
) -> list[str]:
    """Runs all, `jobs` at a time (by default one for each processor), and says how each ended; the
    result are the names of those that failed.
    """
    failed = []
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        done = pool.map(lambda command: run_program(command, environment), commands.values())
        for program, process in zip(commands, done, strict=True):
            status = "FAILED" if process.returncode else "passed"
            print(f"== {program.name}: {status}", flush=True)
            if process.returncode or program.measures:
                print(process.stdout, flush=True)
            if process.returncode:
                failed.append(program.name)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build_tools.native_tests", description=__doc__)
    parser.add_argument("names", nargs="*", help="tests to run (default: all)")
    parser.add_argument("-j", "--jobs", type=int, help="compilers, and tests, at a time")
    options = parser.parse_args()
    known = {program.name: program for program in [*programs(), *benchmarks()]}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no such test: {', '.join(unknown)} (there are {', '.join(known)})")
    wanted = [known[name] for name in options.names] or programs()
    try:
        commands = build_programs(prepare().folder, wanted, jobs=options.jobs)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    measuring = any(program.measures for program in wanted)
    failed = failures(commands, 1 if measuring else options.jobs)
    print(f"{len(wanted) - len(failed)} of {len(wanted)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
