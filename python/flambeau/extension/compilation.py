"""From generated and written C++ and CUDA to an extension module and its kernels for CUDA."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import flambeau
from flambeau import _C
from flambeau._build.compiler import (
    compiler_name,
    find_compiler,
    find_ninja,
    find_python_headers,
    math_libraries,
)
from flambeau._build.compiling import (
    Compiling,
    cpp_files,
    include_flags,
    write_rules,
)
from flambeau._build.cuda import cuda_files, cuda_objects, find_nvcc, write_cuda_rules
from flambeau._build.instruction_sets import flags_of, without_flags
from flambeau._build.ninja_writer import NinjaWriter
from flambeau.cuda import _library as cuda_library

FLAMBEAU = Path(flambeau.__file__).parent
LIBRARIES = tuple(str(FLAMBEAU / "lib" / n) for n in ("libflambeau_python.so", "libflambeau.so"))
# Generated folders that hold C++. Tables of kernels come first: they must be there when kernels
# register, and static objects of a library are made in the order that it was linked in.
ROOMS = ("ops", "cpu", "backend", "python")


@dataclass(frozen=True)
class Cuda:
    """Kernels for CUDA, in a library of their own: the module works where there is no CUDA."""

    architectures: tuple[str, ...]
    sources: tuple[Path, ...] = ()  # beside the generated ones


def library_instruction_sets() -> dict[str, str]:
    """Flags of those that the library has loops for: a package's kernels call functions of its."""
    flags = flags_of()
    return {name: flags[name] for name in _C._compiled_instruction_sets()}


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
    instruction_sets: Mapping[str, str] = field(default_factory=library_instruction_sets)
    cuda: Cuda | None = None

    @property
    def cuda_sources(self) -> list[Path]:
        """What nvcc compiles."""
        return [*cuda_files(self.generated / "cuda"), *self.cuda.sources] if self.cuda else []

    @property
    def cuda_target(self) -> Path:
        """The library of the kernels for CUDA. The module looks for it under this name."""
        return self.target.with_name(f"{self.target.name.partition('.')[0]}_cuda.so")

    @property
    def targets(self) -> list[Path]:
        """The files that compiling makes."""
        return [self.target, *([self.cuda_target] if self.cuda_sources else [])]


def write_ninja(compilation: Compilation) -> Path:
    """Writes build.ninja, unless it is as it should be, and returns its path."""
    writer = NinjaWriter()
    writer.variable("builddir", str(compilation.folder))
    generated = compilation.generated
    includes = include_flags(
        (generated, *compilation.include_folders, FLAMBEAU / "include"), (find_python_headers(),)
    )
    _write_module(writer, compilation, includes)
    if compilation.cuda_sources:
        _write_cuda(writer, compilation, includes)
    return writer.write(compilation.folder / "build.ninja")


def _write_module(writer: NinjaWriter, compilation: Compilation, includes: str) -> None:
    generated = compilation.generated
    without = without_flags(compilation.instruction_sets)
    flags = " ".join([includes, without, *compilation.compile_flags])
    compiler = find_compiler(compiler_name())
    write_rules(writer, compiler, flags)
    compiling = Compiling(
        writer,
        compilation.folder / "objects",
        generated,
        compilation.bases,
        instruction_sets=compilation.instruction_sets,
    )
    sources = [file for room in ROOMS for file in cpp_files(generated / room)]
    objects = compiling.objects([*sources, *compilation.sources])
    paths = [f"-Wl,-rpath,'{path}'" for path in compilation.run_paths]
    options = [*compilation.link_flags, *math_libraries(compiler), *paths]
    _link(writer, "link", compilation.target, objects.all, LIBRARIES, options)


def _write_cuda(writer: NinjaWriter, compilation: Compilation, includes: str) -> None:
    """Against the CUDA backend, where it is installed; else symbols are looked up at load."""
    assert compilation.cuda is not None
    write_cuda_rules(writer, find_nvcc(), compilation.cuda.architectures, includes)
    objects = cuda_objects(
        writer,
        compilation.cuda_sources,
        compilation.folder / "objects",
        (compilation.generated, *compilation.bases),
    )
    backend = cuda_library.path()
    libraries = [*LIBRARIES[1:], *([str(backend)] if backend.exists() else [])]
    options = [f"-Xlinker=-rpath='{path}'" for path in compilation.run_paths]
    if backend.exists():
        options += ["-Xlinker=-z,defs", "-Xlinker=--allow-shlib-undefined"]
    _link(writer, "link_cuda", compilation.cuda_target, objects, libraries, options)


def _link(
    writer: NinjaWriter,
    rule: str,
    target: Path,
    objects: Sequence[str],
    libraries: Sequence[str],
    options: Sequence[str],
) -> None:
    variables = {"libraries": " ".join([*libraries, *options])}
    writer.build(str(target), rule, objects, implicit=libraries, variables=variables)
    writer.default(str(target))


def start_ninja(path: Path, jobs: int | None = None) -> subprocess.Popen[str]:
    """Starts compiling; its output, both streams together, is in `stdout`."""
    command: Sequence[str] = [find_ninja(), "-f", str(path), *(["-j", str(jobs)] if jobs else [])]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )


def included_headers(path: Path, sources: Iterable[Path]) -> list[Path]:
    """The headers that sources were compiled with, those of Flambeau and of the build left out, and
    those of the system.
    """
    command = [find_ninja(), "-f", str(path), "-t", "deps"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wanted = {str(source) for source in sources}
    found: dict[Path, None] = {}
    for block in said.split("\n\n"):  # the object, then a line for each file it was made of
        files = [line.strip() for line in block.splitlines()[1:]]
        if not wanted.isdisjoint(files):
            found |= dict.fromkeys(Path(file).absolute() for file in files if file not in wanted)
    own = (FLAMBEAU, path.parent)
    return [file for file in found if not any(file.is_relative_to(folder) for folder in own)]
