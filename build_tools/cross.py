"""Builds the library for another kind of processor and runs the C++ tests under an emulator.

`python -m build_tools.cross [NAME ...]` compiles libflambeau.so, what is written by hand and what
is generated, with Debian's g++-aarch64-linux-gnu, and runs the tests, or those named, with its
qemu-user, once for every instruction set (FLAMBEAU_INSTRUCTION_SETS=machine: for the baseline
alone). `--tests-only` leaves the generated part out, which is most of the work. The Python module
is not built: it needs that machine's Python.

    apt install g++-aarch64-linux-gnu qemu-user
    python -m build_tools.cross
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from build_tools.build import ROOT, prepare
from build_tools.native_tests import Command, Program, build_programs, programs
from build_tools.ninja_file import internal_archive, library_file
from build_tools.object_cache import compile_environment
from build_tools.processor import VARIABLE, built_instruction_sets
from build_tools.shared.compiler import BuildError

MACHINE = "aarch64"


@dataclass(frozen=True)
class Emulator:
    """Runs programs of another machine: qemu's, of user mode."""

    path: str
    root: Path  # where that machine's loader and C library are

    def run(self, program: Command, instruction_set: str) -> subprocess.CompletedProcess[str]:
        """Both streams are in `stdout`."""
        command = [self.path, "-cpu", "max", "-L", str(self.root), *program]
        return subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "FLAMBEAU_CPU": instruction_set},
        )


def find_emulator() -> Emulator:
    """BuildError where it is missing."""
    path = shutil.which(f"qemu-{MACHINE}")
    if path is None:
        raise BuildError(f"The emulator qemu-{MACHINE} is missing: `apt install qemu-user`.")
    return Emulator(path, Path(f"/usr/{MACHINE}-linux-gnu"))


def build(tests: Sequence[Program], tests_only: bool, jobs: int | None) -> dict[Program, Command]:
    """Compiles; the result is what runs each test."""
    os.environ.setdefault("CXX", f"{MACHINE}-linux-gnu-g++")
    prepared = prepare()
    if prepared.toolchain.machine != MACHINE:
        raise BuildError(f"{prepared.toolchain.compiler} does not compile for {MACHINE}.")
    folder = prepared.folder
    target = internal_archive(folder) if tests_only else library_file(folder)
    command = [prepared.toolchain.ninja, "-f", str(folder / "build.ninja"), "-k", "20", str(target)]
    command += ["-j", str(jobs)] if jobs else []
    if subprocess.run(command, env=compile_environment(ROOT), check=False).returncode != 0:
        raise BuildError("The compiler reported errors (above).")
    return build_programs(folder, tests, jobs=jobs, further="-DFLAMBEAU_EMULATED")


def run_tests(emulator: Emulator, tests: dict[Program, Command]) -> int:
    """Runs each test once per instruction set, those of one set with that; how many failed."""
    failed = 0
    for program, command in tests.items():
        sets = (
            [program.instruction_set]
            if program.instruction_set
            else built_instruction_sets(MACHINE)
        )
        for name in sets:
            done = emulator.run(command, name)
            failed += done.returncode != 0
            print(f"== {program.name}, {name}: {'FAILED' if done.returncode else 'passed'}")
            if done.returncode != 0:
                print(done.stdout)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m build_tools.cross",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="tests to run (default: all)")
    parser.add_argument("--tests-only", action="store_true", help="without what is generated")
    parser.add_argument("-j", "--jobs", type=int, help="compilers at a time")
    options = parser.parse_args()
    os.environ.setdefault(VARIABLE, "all")
    known = {program.name: program for program in programs(sets=built_instruction_sets(MACHINE))}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)} (there are {', '.join(known)})")
    wanted = [known[name] for name in options.names] or list(known.values())
    try:
        emulator = find_emulator()
        tests = build(wanted, options.tests_only, options.jobs)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    failed = run_tests(emulator, tests)
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
