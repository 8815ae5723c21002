"""Writes build.ninja: which sources become which libraries, with which flags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from build_tools.processor import built_instruction_sets, wheel_instruction_sets
from build_tools.shared.compiler import math_libraries
from build_tools.shared.compiling import (
    CALLS,
    LOOPS,
    OPTIMIZED,
    Compiling,
    cpp_files,
    include_flags,
    write_rules,
)
from build_tools.shared.instruction_sets import flags_of, without_flags
from build_tools.shared.ninja_writer import NinjaWriter
from build_tools.toolchain import Toolchain

MODULE = "extension.cpp"  # of native/python/module: makes a Python module of the binding runtime
# What fuzzing wants to see: conditions that hold whatever is passed, memory to the byte.
FUZZING = (
    "-DFLAMBEAU_ASSERTIONS -DFLAMBEAU_EXACT_BLOCKS -DFLAMBEAU_REMOVABLE_CHECKS"
    " -D_GLIBCXX_ASSERTIONS"
)
# What the address sanitizer finds too, at half the time of the compiler; and of loops, how elements
# are aligned, which the processors that run them do not mind.
UNDEFINED_ALONE = "-fno-sanitize=null,object-size"
# Each read and write asks in a call, rather than in place: an eighth of the compiler's time.
OUTLINED = "--param asan-instrumentation-with-call-threshold=0"
UNALIGNED = "-fno-sanitize=alignment"
# Wheels hold to what older systems' libraries have, and carry no names that only debuggers read.
OLDER_SYSTEMS = "-Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2"
# Functions of one template lie side by side, which shortens the archive.
STRIPPED = "-Wl,--strip-all -Wl,--sort-section=name"
VECTORS = "vector_library.cpp"  # of native/portable: what kernels alone call
IDENTITY = "package.cpp"  # of native/python/module: says which state of the headers this is


@dataclass(frozen=True)
class Sources:
    """What is compiled into each library."""

    library: tuple[Path, ...]  # libflambeau.so, without the generated part: what native tests link
    generated: tuple[Path, ...]  # libflambeau.so, the generated part
    binding: tuple[Path, ...]  # libflambeau_python.so: what extension modules share
    extension: Path  # _C.so
    identity: Path  # libflambeau_python.so, with a header that changes whenever another one does
    portable: tuple[Path, ...]  # libflambeau.so and libflambeau_python.so of wheels
    vectors: Path  # libflambeau.so of wheels for x86-64


def collect_sources(root: Path, generated: Path) -> Sources:
    """Every .cpp of a room belongs to that room's library: adding a file needs no edit here."""
    native = root / "native"
    library = [
        *cpp_files(native / "core"),
        *cpp_files(native / "autograd"),
        *cpp_files(native / "any"),
        *cpp_files(native / "cpu"),
    ]
    derived = [
        *cpp_files(native / "operators"),
        *cpp_files(generated / "ops"),
        *cpp_files(generated / "cpu"),
    ]
    apart = (native / "python" / "module" / MODULE, native / "python" / "module" / IDENTITY)
    binding = [file for file in cpp_files(native / "python") if file not in apart]
    binding += cpp_files(generated / "python")
    vectors = native / "portable" / VECTORS
    portable = tuple(file for file in cpp_files(vectors.parent) if file != vectors)
    return Sources(tuple(library), tuple(derived), tuple(binding), *apart, portable, vectors)


def write_ninja(
    root: Path,
    build: Path,
    generated: Path,
    toolchain: Toolchain,
    sanitize: str | None,
    fuzzing: str = "",
    wheel: bool = False,
) -> Path:
    """Writes build/build.ninja if it changed and returns its path. `fuzzing`: with assertions, and
    the loops of the baseline and of this set. Those of wheels share the objects that do not know
    Python, which lie in the folder above.
    """
    writer = NinjaWriter()
    # Of wheels, only what includes Python.h is compiled for each Python.
    headers = toolchain.includes
    includes = include_flags((root / "native", generated), () if wheel else headers)
    shared = build.parent if wheel else build
    sanitizer = f"-fsanitize={sanitize} -fno-omit-frame-pointer -g1" if sanitize else ""
    machine = toolchain.machine
    sets = wheel_instruction_sets(machine) if wheel else built_instruction_sets(machine)
    if fuzzing:  # the loops of one instruction set are half of the work
        flags = flags_of(machine)
        sets = {name: flags[name] for name in ("baseline", fuzzing)}
    without = without_flags(sets, machine)
    fuzzed = f"{UNDEFINED_ALONE} {OUTLINED} {FUZZING}" if fuzzing else ""
    further = " ".join(filter(None, [sanitizer, fuzzed, without]))
    optimized = plain_level(sanitize, bool(fuzzing))
    writer.variable("builddir", str(shared))
    writer.variable("math_libraries", " ".join(math_libraries(toolchain.compiler)))
    link_flags = STRIPPED if wheel else sanitizer
    write_rules(writer, toolchain.compiler, f"{further} {includes}", link_flags)
    writer.rule("archive", command="rm -f $out && ar rcsT $out $in", description="archive $out")
    compiling = Compiling(
        writer,
        shared / "objects",
        generated,
        (root,),
        optimized,
        optimized if sanitize else CALLS,
        loops_level(sanitize, bool(fuzzing)),
        instruction_sets=sets,
        precompiled=precompiled_headers(root / "native"),
        given=given_headers(root / "native"),
    )
    with_python = compiling
    if wheel:
        own = include_flags((), headers)
        with_python = replace(
            compiling,
            folder=build / "objects",
            optimized=f"{compiling.optimized} {own}",
            calls=f"{compiling.calls} {own}",
            _ahead={},
        )
    _write_libraries(root, build, generated, compiling, with_python, wheel, machine)
    return writer.write(build / "build.ninja")


def _write_libraries(
    root: Path,
    build: Path,
    generated: Path,
    compiling: Compiling,
    with_python: Compiling,
    wheel: bool,
    machine: str,
) -> None:
    """The three libraries, each of which knows those before it, and an archive for tests."""
    writer = compiling.writer
    sources = collect_sources(root, generated)
    library = library_file(build)
    binding = build / "lib" / "libflambeau_python.so"
    extension = build / "lib" / "_C.so"
    portable = compiling.objects(sources.portable).all if wheel else []
    has_vectors = wheel and machine == "x86_64"
    vectors = compiling.objects([sources.vectors]).all if has_vectors else []
    older = f" {OLDER_SYSTEMS}" if wheel else ""
    written = compiling.objects(sources.library)
    identity = with_python.objects([sources.identity], f"-I{abi_header(root).parent}")
    bound = [*with_python.objects(sources.binding).all, *identity.all]
    entered = with_python.objects([sources.extension]).all
    derived = compiling.objects(sources.generated)  # many that take long, so that none ends alone
    writer.build(str(internal_archive(build)), "archive", written.all)

    def link(target: Path, objects: list[str], implicit: tuple[Path, ...], flags: str) -> None:
        known = [str(file) for file in implicit]
        writer.build(str(target), "link", objects, implicit=known, variables={"libraries": flags})

    flags = f"$math_libraries -pthread -Wl,-soname,libflambeau.so{older}"
    link(library, [*portable, *vectors, *(written + derived).all], (), flags)
    flags = f"{library} -Wl,-soname,libflambeau_python.so -Wl,-rpath,'$$ORIGIN'{older}"
    link(binding, [*portable, *bound], (library,), flags)
    flags = f"{binding} {library} -Wl,-rpath,'$$ORIGIN/lib' -Wl,-rpath,'$$ORIGIN'"
    link(extension, entered, (library, binding), flags)
    writer.default(str(extension))


def precompiled_headers(native: Path) -> dict[str, Path]:
    """What generated sources are compiled with; by their folder, and once per instruction set."""
    return {
        "cpu": native / "core" / "precompiled.h",
        "cpu.simd": native / "cpu" / "precompiled.h",
        "ops": native / "operators" / "precompiled.h",
        "python": native / "python" / "precompiled.h",
    }


def plain_level(sanitize: str | None, fuzzing: bool) -> str:
    """How what has no loops over elements is optimized. For fuzzing, compiling takes longer than
    all that runs.
    """
    if not sanitize:
        return OPTIMIZED
    return "-O0" if fuzzing else "-O1"


def loops_level(sanitize: str | None, fuzzing: bool) -> str:
    """How loops over elements are optimized, and what of them is not looked at."""
    if not sanitize:
        return LOOPS
    return f"-Og {UNALIGNED}" if fuzzing else "-O1"


def given_headers(native: Path) -> dict[Path, dict[str, Path]]:
    """What sources by hand are compiled with, beside what they include; by the room they lie in,
    and whether they are compiled once per instruction set (".simd").
    """
    core = {"": native / "core" / "precompiled.h"}
    loops = {".simd": native / "cpu" / "precompiled.h"}
    return {
        native / "core": core,
        native / "autograd": core,
        native / "any": core,
        native / "cpu": core | loops,
        native / "python": {"": native / "python" / "precompiled.h"},
    }


def abi_header(root: Path) -> Path:
    """The header that names this state of the library's headers."""
    return root / "build" / "abi" / "abi.h"


def library_file(build: Path) -> Path:
    """What knows no Python."""
    return build / "lib" / "libflambeau.so"


def internal_archive(build: Path) -> Path:
    """The objects of what is written by hand, whose hidden functions native tests call."""
    return build / "libflambeau_internal.a"
