"""Compiles and links the CUDA backend; needs nvcc, but no GPU.

`python -m build_tools.cuda_check [--jobs N] [--arch sm_90]` generates what is missing or old,
compiles every .cu and .cpp of native/cuda and of the generated folder that changed, links
build/cuda/libflambeau_cuda.so against libflambeau.so and prints how long it took. Exit status: 0,
1 after an error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from importlib import util
from pathlib import Path

from build_tools.build import generate
from build_tools.object_cache import compile_environment
from build_tools.shared.compiler import BuildError, find_ninja
from build_tools.shared.compiling import include_flags
from build_tools.shared.cuda import (
    LIBRARY,
    cuda_files,
    cuda_objects,
    find_nvcc,
    write_cuda_rules,
)
from build_tools.shared.lock import exclusive
from build_tools.shared.ninja_writer import NinjaWriter

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "build" / "generated"
FOLDER = ROOT / "build" / "cuda"


def find_flambeau() -> Path:
    """libflambeau.so: the one built in this tree, else the installed one."""
    places = [ROOT / "build" / "release" / "lib" / "libflambeau.so"]
    spec = util.find_spec("flambeau")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        places.append(Path(folder) / "lib" / "libflambeau.so")
    for place in places:
        if place.exists():
            return place
    raise BuildError(
        "libflambeau.so was not found: build it with `python -m build_tools.build`, or install "
        "Flambeau."
    )


def backend_sources() -> list[Path]:
    """Of the backend: what is written by hand, and what is generated."""
    return [file for room in (ROOT / "native", GENERATED) for file in cuda_files(room / "cuda")]


def compile_backend(ninja_file: Path, *options: str) -> None:
    """Runs ninja.

    Raises:
        BuildError: something does not compile.
    """
    command = [find_ninja(), "-f", str(ninja_file), *options]
    environment = compile_environment(ROOT)
    if subprocess.run(command, env=environment, check=False, cwd=ROOT).returncode != 0:
        raise BuildError("The CUDA backend did not compile: the messages above say why.")


def write_ninja(nvcc: str, arch: str) -> Path:
    """Writes build/cuda/build.ninja if it changed and returns its path."""
    writer = NinjaWriter()
    writer.variable("builddir", str(FOLDER))
    includes = include_flags((ROOT / "native", GENERATED))
    write_cuda_rules(writer, nvcc, [arch], includes)
    objects = cuda_objects(writer, backend_sources(), FOLDER / arch, (GENERATED, ROOT))
    flambeau = str(find_flambeau())
    # Symbols that nobody defines are an error here, not at load.
    libraries = (
        f"{flambeau} -Xlinker=-soname={LIBRARY} -Xlinker=-z,defs "
        "-Xlinker=-rpath='$$ORIGIN' -Xlinker=--allow-shlib-undefined"
    )
    target = str(FOLDER / LIBRARY)
    writer.build(
        target, "link_cuda", objects, implicit=[flambeau], variables={"libraries": libraries}
    )
    writer.default(target)
    return writer.write(FOLDER / "build.ninja")


def check(arch: str, jobs: int, verbose: bool = False) -> Path:
    """Brings libflambeau_cuda.so up to date and returns it.

    Raises:
        BuildError: where something is missing, or does not compile.
    """
    nvcc = find_nvcc()
    generate(GENERATED)
    with exclusive(FOLDER):
        shown = ["-v"] if verbose else []
        compile_backend(write_ninja(nvcc, arch), "-j", str(jobs), "-k", "0", *shown)
    return FOLDER / LIBRARY


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build_tools.cuda_check", description=__doc__)
    parser.add_argument(
        "-j", "--jobs", type=int, default=os.cpu_count() or 1, help="compilers at a time"
    )
    parser.add_argument("--arch", default="sm_90", help="the architecture to compile for")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every command")
    options = parser.parse_args()
    started = time.monotonic()
    try:
        library = check(options.arch, options.jobs, options.verbose)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    size, seconds = library.stat().st_size / 1e6, time.monotonic() - started
    print(f"{library.relative_to(ROOT)}: {size:.1f} MB for {options.arch}, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
