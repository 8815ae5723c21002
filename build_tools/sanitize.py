"""Builds the library and the C++ tests with a sanitizer and runs them and tests from Python.

`python -m build_tools.sanitize address,undefined` (or `thread`) builds into
`build/sanitize-address,undefined`, runs every file of tests/native, then pytest, to the end, and
says which failed. The interpreter is not instrumented: the sanitizer's runtime is loaded before it.
`--native` leaves out what is generated and Python: some minutes instead of half an hour.

`--fuzz 2000` builds a library with assertions and the loops of one instruction set, the baseline or
that of `--set avx512`, and runs that many calls of tests/fuzz with it instead of all tests; what
follows `--` are further arguments of these. With `--native`, the C++ tests run with it first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from build_tools.build import ROOT, Build, build, prepare
from build_tools.native_tests import build_programs, failures, programs
from build_tools.processor import runnable_instruction_sets
from build_tools.shared.compiler import BuildError
from build_tools.shared.instruction_sets import flags_of
from build_tools.stage import stage_links

# Python never gives its memory back at exit, so leaks are not looked for. Copies of the stack on
# the heap are not aligned for AVX-512 by g++ 12: programs without a mistake would fail.
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1",
}
# A huge request of memory fails as it would without the sanitizer; assertions show their stack.
_FUZZ_OPTIONS = {
    "ASAN_OPTIONS": (
        f"{_OPTIONS['ASAN_OPTIONS']}:handle_abort=1:exitcode=99:allocator_may_return_null=1"
        ":max_allocation_size_mb=1024:hard_rss_limit_mb=5000:quarantine_size_mb=64"
    ),
}
_RUNTIMES = {"address,undefined": "libasan.so", "thread": "libtsan.so"}
# What pytest runs: for races, the tests that start threads.
_TESTS = {
    "address,undefined": ("tests/python", "tests/operators"),
    "thread": ("tests/python/test_robustness.py", "-k", "thread"),
}


def run_native(result: Build, sanitize: str, jobs: int | None, fuzzing: str = "") -> list[str]:
    """The tests that fail."""
    wanted = programs(sets={fuzzing: flags_of()[fuzzing]} if fuzzing else None)
    commands = build_programs(result.folder, wanted, sanitize, jobs)
    options = _fuzz_options(fuzzing) if fuzzing else _OPTIONS
    return failures(commands, jobs, options)


def run_python(result: Build, sanitize: str, tests: tuple[str, ...], jobs: int | None) -> int:
    """pytest with the instrumented library."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not timed"]
    # One test process at a time where threads are what is tested.
    if sanitize != "thread":
        command += ["-n", str(jobs or os.cpu_count())]
    environment = _environment(result, sanitize)
    return subprocess.run([*command, *tests], cwd=ROOT, env=environment, check=False).returncode


def run_fuzzer(
    result: Build, sanitize: str, fuzzing: str, calls: int, arguments: Sequence[str]
) -> int:
    """tests/fuzz with an instrumented library that asserts."""
    environment = {**_environment(result, sanitize), **_fuzz_options(fuzzing)}
    command = [sys.executable, "tests/fuzz", "--calls", str(calls), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def _fuzz_options(instruction_set: str) -> dict[str, str]:
    return {**_OPTIONS, **_FUZZ_OPTIONS, "FLAMBEAU_CPU": instruction_set}


def _environment(result: Build, sanitize: str) -> dict[str, str]:
    """What a Python that imports the instrumented library needs."""
    package = stage_links(ROOT, result.folder, result.generated)
    compiler = result.toolchain.compiler
    runtimes = [_runtime(compiler, name) for name in (_RUNTIMES[sanitize], "libstdc++.so")]
    return {
        **os.environ,
        **_OPTIONS,
        "LD_PRELOAD": " ".join(runtimes),
        "PYTHONPATH": str(package),
        "PYTHONMALLOC": "malloc",  # small objects of Python's are checked too
    }


def _runtime(compiler: str, name: str) -> str:
    command = [compiler, f"-print-file-name={name}"]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(path).is_absolute():
        raise BuildError(f"{compiler} has no {name}: install the sanitizers of this compiler.")
    return str(Path(path).resolve())


def _fuzz(options: argparse.Namespace, further: Sequence[str]) -> list[str]:
    """What fails of the C++ tests, where they are wanted, and of the calls."""
    result = build(options.sanitize, options.jobs, options.set)
    failed = []
    if options.native:
        failed += run_native(result, options.sanitize, options.jobs, options.set)
    status = run_fuzzer(result, options.sanitize, options.set, options.fuzz, further)
    return failed + ["tests/fuzz"] * (status != 0)


def _test(options: argparse.Namespace, further: Sequence[str]) -> list[str]:
    """What fails of the C++ tests and of those from Python."""
    # The C++ tests need only what is written by hand.
    result = prepare(options.sanitize)
    failed = run_native(result, options.sanitize, options.jobs)
    if not options.native:
        build(options.sanitize, options.jobs)
        tests = (*options.tests, *further) or _TESTS[options.sanitize]
        failed += ["pytest"] * (run_python(result, options.sanitize, tests, options.jobs) != 0)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build_tools.sanitize", description=__doc__)
    parser.add_argument("sanitize", choices=list(_RUNTIMES))
    parser.add_argument("tests", nargs="*", help="what pytest runs")
    parser.add_argument("-j", "--jobs", type=int, help="compilers and test processes at a time")
    parser.add_argument("--native", action="store_true", help="C++ tests only")
    parser.add_argument("--fuzz", type=int, metavar="CALLS", help="tests/fuzz only")
    parser.add_argument(
        "--set",
        choices=runnable_instruction_sets(),
        default="baseline",
        help="with --fuzz: whose loops",
    )
    # What follows `--` is read by those that run: argparse would take it for its own.
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:end])
    further = given[end + 1 :]
    try:
        run = _test if options.fuzz is None else _fuzz
        failed = run(options, further)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    print(f"FAILED: {', '.join(failed)}" if failed else "The sanitizer found nothing.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
