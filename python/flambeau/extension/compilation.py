"""From generated and written C++ to one extension module."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import flambeau
from flambeau._build.compiler import find_compiler, find_ninja, find_python_headers
from flambeau._build.compiling import (
    INSTRUCTION_SETS,
    Compiling,
    cpp_files,
    include_flags,
    write_rules,
)
from flambeau._build.ninja_writer import NinjaWriter

FLAMBEAU = Path(flambeau.__file__).parent
LIBRARIES = ("libflambeau_python.so", "libflambeau.so")
# Generated folders that hold C++. Tables of kernels come first: they must be there when kernels
# register, and static objects of a library are made in the order that it was linked in.
ROOMS = ("ops", "cpu", "backend", "python")


@dataclass(frozen=True)
class Compilation:
    """What is compiled into which file, with what."""

    folder: Path  # of objects
    generated: Path
    target: Path
    sources: tuple[Path, ...] = ()  # beside the generated ones
    bases: tuple[Path, ...] = ()  # that these lie below
    include_folders: tuple[Path, ...] = ()
    compile_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    run_paths: tuple[str, ...] = ()  # where the module looks for Flambeau's libraries
    instruction_sets: Mapping[str, str] = field(default_factory=lambda: INSTRUCTION_SETS)


def compiler_name() -> str:
    """The compiler to use: the variable CXX, or g++."""
    return os.environ.get("CXX", "g++")


def write_ninja(compilation: Compilation) -> Path:
    """Writes build.ninja, unless it is as it should be, and returns its path."""
    generated = compilation.generated
    writer = NinjaWriter()
    writer.variable("builddir", str(compilation.folder))
    includes = include_flags(
        (generated, *compilation.include_folders, FLAMBEAU / "include"), (find_python_headers(),)
    )
    flags = " ".join([includes, *compilation.compile_flags])
    write_rules(writer, find_compiler(compiler_name()), flags)
    compiling = Compiling(
        writer,
        compilation.folder / "objects",
        generated,
        compilation.bases,
        instruction_sets=compilation.instruction_sets,
    )
    sources = [file for room in ROOMS for file in cpp_files(generated / room)]
    objects = compiling.objects([*sources, *compilation.sources])
    libraries = [str(FLAMBEAU / "lib" / name) for name in LIBRARIES]
    paths = [f"-Wl,-rpath,'{path}'" for path in compilation.run_paths]
    options = [*libraries, *compilation.link_flags, "-lmvec", "-lm", *paths]
    writer.build(
        str(compilation.target),
        "link",
        objects.all,
        implicit=libraries,
        variables={"libraries": " ".join(options)},
    )
    writer.default(str(compilation.target))
    return writer.write(compilation.folder / "build.ninja")


def start_ninja(path: Path, jobs: int | None = None) -> subprocess.Popen[str]:
    """Starts compiling; its output, both streams together, is in `stdout`."""
    command: Sequence[str] = [find_ninja(), "-f", str(path), *(["-j", str(jobs)] if jobs else [])]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
