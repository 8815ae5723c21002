"""Writes build.ninja: which sources become which objects, with which flags."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from ninja import ninja_syntax

from build_tools.toolchain import Toolchain

COMMON_FLAGS = (
    "-std=c++20 -fPIC -fvisibility=hidden -fopenmp -fno-math-errno -fno-trapping-math "
    "-ffp-contract=off -Wall -Wextra -Wno-unused-parameter"
)
OPTIMIZED = "-O2"
LOOPS = "-O3"
# One object per instruction set for every *.simd.cpp; the best one is picked when the library loads.
INSTRUCTION_SETS = {
    "baseline": "",
    "avx2": "-march=x86-64-v3",
    "avx512": "-march=x86-64-v4 -mprefer-vector-width=512",
}


@dataclass(frozen=True)
class Sources:
    """What is compiled into each library."""

    library: tuple[Path, ...]  # libflambeau.so
    extension: tuple[Path, ...]  # _C.so


def collect_sources(root: Path, generated: Path) -> Sources:
    """Every .cpp of a room belongs to that room's library: adding a file needs no edit here."""
    native = root / "native"
    library = [
        *_cpp_files(native / "core"),
        *_cpp_files(native / "autograd"),
        *_cpp_files(native / "cpu"),
        *_cpp_files(native / "ops"),
        *_cpp_files(generated / "ops"),
        *_cpp_files(generated / "cpu"),
    ]
    extension = [*_cpp_files(native / "python"), *_cpp_files(generated / "python")]
    return Sources(tuple(library), tuple(extension))


def write_ninja(
    root: Path, build: Path, generated: Path, toolchain: Toolchain, sanitize: str | None
) -> Path:
    """Writes build/build.ninja if it changed and returns its path."""
    text = StringIO()
    writer = ninja_syntax.Writer(text, width=1000)
    includes = " ".join(f"-I{path}" for path in (root / "native", generated))
    includes += " " + " ".join(f"-isystem {path}" for path in toolchain.includes)
    sanitizer = f"-fsanitize={sanitize} -fno-omit-frame-pointer -g1" if sanitize else ""
    optimized = "-O1" if sanitize else OPTIMIZED
    writer.variable("builddir", str(build))
    writer.variable("flags", f"{COMMON_FLAGS} {sanitizer} {includes}")
    writer.rule(
        "compile",
        command=f"{toolchain.compiler} $flags $extra -MMD -MF $out.d -c $in -o $out",
        depfile="$out.d",
        deps="gcc",
        description="compile $in",
    )
    writer.rule(
        "link",
        command=f"{toolchain.compiler.split()[-1]} -shared -fopenmp {sanitizer} -o $out $in $libraries",
        description="link $out",
    )
    sources = collect_sources(root, generated)
    package = build / "lib"
    library = package / "libflambeau.so"
    extension = package / "_C.so"
    objects = _compile(writer, root, build, generated, sources.library, optimized, sanitize)
    _link(
        writer,
        library,
        objects,
        f"{toolchain.onednn_library} -lmvec -lm -Wl,-soname,libflambeau.so "
        "-Wl,-rpath,'$$ORIGIN' -Wl,-rpath,'$$ORIGIN/../../../..'",
    )
    objects = _compile(writer, root, build, generated, sources.extension, optimized, sanitize)
    _link(
        writer,
        extension,
        objects,
        f"{library} -Wl,-rpath,'$$ORIGIN/lib' -Wl,-rpath,'$$ORIGIN'",
        implicit=[str(library)],
    )
    writer.default([str(extension)])
    path = build / "build.ninja"
    if not path.exists() or path.read_text() != text.getvalue():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.getvalue())
    return path


def _cpp_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.cpp"))


def _compile(
    writer: ninja_syntax.Writer,
    root: Path,
    build: Path,
    generated: Path,
    sources: tuple[Path, ...],
    optimized: str,
    sanitize: str | None,
) -> list[str]:
    plain, special = [], []
    for source in sources:
        inside = generated if source.is_relative_to(generated) else root
        stem = build / "objects" / source.relative_to(inside).with_suffix("")
        if source.name.endswith(".simd.cpp"):
            for name, flags in INSTRUCTION_SETS.items():
                target = f"{stem}.{name}.o"
                level = optimized if sanitize else LOOPS
                extra = f"{level} -DFLAMBEAU_ISA={name} {flags}"
                writer.build(target, "compile", str(source), variables={"extra": extra})
                (special if flags else plain).append(target)
        else:
            target = f"{stem}.o"
            writer.build(target, "compile", str(source), variables={"extra": optimized})
            plain.append(target)
    # The linker keeps the first copy of a shared inline function: one that every processor can run.
    return plain + special


def _link(
    writer: ninja_syntax.Writer,
    target: Path,
    objects: list[str],
    libraries: str,
    implicit: list[str] | None = None,
) -> None:
    writer.build(
        str(target), "link", objects, implicit=implicit or [], variables={"libraries": libraries}
    )
