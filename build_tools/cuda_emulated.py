"""Compiles the CUDA backend with g++ onto the emulator of tests/cuda and runs tests on it.

`python -m build_tools.cuda_emulated [--jobs N] [TEST ...]` brings
build/cuda-emulated/libflambeau_cuda.so up to date, for the library of this tree or else the
installed one, and runs pytest, by default on tests/cuda, with devices that are parts of this
process: threads of a block take turns at barriers, work waits in streams until somebody waits for
it, the host may not touch device memory, and what kernels read and write is watched for races.
Neither nvcc nor a GPU is needed; how fast a kernel is, it cannot say. What follows `--` are further
arguments of pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from build_tools.build import generate
from build_tools.cuda_check import (
    GENERATED,
    ROOT,
    backend_sources,
    compile_backend,
    find_flambeau,
)
from build_tools.shared.compiler import BuildError, compiler_name, find_compiler
from build_tools.shared.compiling import cpp_files, include_flags, place, write_rules
from build_tools.shared.cuda import LIBRARY
from build_tools.shared.lock import exclusive
from build_tools.shared.ninja_writer import NinjaWriter

EMULATOR = ROOT / "tests" / "cuda" / "emulator"
FOLDER = ROOT / "build" / "cuda-emulated"
_TESTS = ("tests/cuda",)
# Kernels call the emulator wherever they read or write; it links no sanitizer.
_KERNELS = (
    "-x c++ -O1 -fsanitize=thread -fwrapv -Wno-unknown-pragmas "
    # What an `if constexpr` of a template leaves out.
    "-Wno-unused-but-set-parameter -Wno-maybe-uninitialized"
)

_HEADER = "cuda/kernels.cuh"  # what generated sources include first


def write_ninja(library: Path) -> Path:
    """Writes build.ninja for the sources of the backend and of the emulator."""
    writer = NinjaWriter()
    writer.variable("builddir", str(FOLDER))
    headers = include_flags((EMULATOR / "include", ROOT / "native", GENERATED))
    write_rules(writer, find_compiler(compiler_name()), headers, "-Wl,-z,defs")
    bases = (GENERATED, ROOT)
    ahead = FOLDER / "precompiled"
    compiled = str(ahead / f"{_HEADER}.gch")
    header = str(ROOT / "native" / _HEADER)
    writer.build(compiled, "precompile", [header], variables={"extra": _KERNELS})
    objects = []
    for source in [*backend_sources(), *cpp_files(EMULATOR)]:
        objects.append(f"{place(source, FOLDER / 'objects', bases)}.o")
        flags = _KERNELS if source.suffix == ".cu" else "-O2"
        is_generated = source.is_relative_to(GENERATED)
        if is_generated:
            flags += f" -iquote {ahead}"
        implicit = [compiled] if is_generated else []
        variables = {"extra": flags}
        writer.build(objects[-1], "compile", [str(source)], implicit=implicit, variables=variables)
    target = str(FOLDER / LIBRARY)
    writer.build(
        target,
        "link",
        objects,
        implicit=[str(library)],
        variables={"libraries": f"{library} -Wl,-rpath,{library.parent}"},
    )
    writer.default(target)
    return writer.write(FOLDER / "build.ninja")


def build_emulated(jobs: int | None = None) -> dict[str, str]:
    """Brings the backend up to date; returns the environment of processes that use it.

    Raises:
        BuildError: where something is missing, or does not compile.
    """
    generate(GENERATED)
    library = find_flambeau()
    with exclusive(FOLDER):
        compile_backend(write_ninja(library), *(["-j", str(jobs)] if jobs else []))
    # The package that holds the library, where it is this tree's.
    paths = [str(library.parents[1] / "package"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "FLAMBEAU_CUDA_LIBRARY": str(FOLDER / LIBRARY),
        "FLAMBEAU_EMULATED": "1",
    }


def run(tests: Sequence[str], further: Sequence[str], jobs: int | None = None) -> int:
    """Pytest's exit status."""
    environment = build_emulated(jobs)
    command = [sys.executable, "-m", "pytest", *(tests or _TESTS), *further]
    return subprocess.run(command, env=environment, check=False, cwd=ROOT).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m build_tools.cuda_emulated", description=__doc__
    )
    parser.add_argument("tests", nargs="*", help="what pytest runs")
    parser.add_argument("-j", "--jobs", type=int, help="compilers at a time")
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:end])
    try:
        return run(options.tests, given[end + 1 :], options.jobs)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
