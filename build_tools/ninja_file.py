"""Writes build.ninja: which sources become which objects, with which flags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from build_tools.ninja_writer import NinjaWriter
from build_tools.toolchain import Toolchain

COMMON_FLAGS = (
    "-std=c++20 -fPIC -fvisibility=hidden -fopenmp -fno-math-errno -fno-trapping-math "
    "-ffp-contract=off -Wall -Wextra -Wno-unused-parameter"
)
OPTIMIZED = "-O2"
LOOPS = "-O3"
# Generated formulas: skipped comparisons (`minimum(maximum(x, a), b)`) become masks over the rest.
FORMULAS = "-fno-thread-jumps"
# And with 32 registers: the steps of unrolled iterations alternate, which hides their latency.
# Loops by hand are in their best order already.
INTERLEAVED = "-fschedule-insns -fweb -frename-registers"
# One object per instruction set for every *.simd.cpp; the best is picked when the library loads.
INSTRUCTION_SETS = {
    "baseline": "",
    "avx2": "-march=x86-64-v3",
    "avx512": "-march=x86-64-v4 -mprefer-vector-width=512",
}


@dataclass(frozen=True)
class Sources:
    """What is compiled into each library."""

    library: tuple[Path, ...]  # libflambeau.so, without the generated part: what native tests link
    generated: tuple[Path, ...]  # libflambeau.so, the generated part
    extension: tuple[Path, ...]  # _C.so


def collect_sources(root: Path, generated: Path) -> Sources:
    """Every .cpp of a room belongs to that room's library: adding a file needs no edit here."""
    native = root / "native"
    library = [
        *_cpp_files(native / "core"),
        *_cpp_files(native / "autograd"),
        *_cpp_files(native / "cpu"),
    ]
    derived = [
        *_cpp_files(native / "ops"),
        *_cpp_files(generated / "ops"),
        *_cpp_files(generated / "cpu"),
    ]
    extension = [*_cpp_files(native / "python"), *_cpp_files(generated / "python")]
    return Sources(tuple(library), tuple(derived), tuple(extension))


def write_ninja(
    root: Path, build: Path, generated: Path, toolchain: Toolchain, sanitize: str | None
) -> Path:
    """Writes build/build.ninja if it changed and returns its path."""
    writer = NinjaWriter()
    includes = " ".join(f"-I{path}" for path in (root / "native", generated))
    includes += " " + " ".join(f"-isystem {path}" for path in toolchain.includes)
    sanitizer = f"-fsanitize={sanitize} -fno-omit-frame-pointer -g1" if sanitize else ""
    optimized = "-O1" if sanitize else OPTIMIZED
    writer.variable("builddir", str(build))
    writer.variable("flags", f"{COMMON_FLAGS} {sanitizer} {includes}")
    writer.variable("linker", toolchain.compiler.split()[-1])
    writer.variable("sanitizer", sanitizer)
    writer.variable("onednn", str(toolchain.onednn_library))
    writer.rule(
        "compile",
        command=f"{toolchain.compiler} $flags $extra -MMD -MF $out.d -c $in -o $out",
        depfile="$out.d",
        deps="gcc",
        description="compile $in",
    )
    writer.rule(
        "link",
        command="$linker -shared -fopenmp $sanitizer -o $out $in $libraries",
        description="link $out",
    )
    writer.rule("archive", command="rm -f $out && ar rcsT $out $in", description="archive $out")
    sources = collect_sources(root, generated)
    library = build / "lib" / "libflambeau.so"
    extension = build / "lib" / "_C.so"
    compiling = _Compiling(writer, root, build, generated, optimized, sanitize)
    written = compiling.objects(sources.library)
    derived = compiling.objects(sources.generated)
    writer.build(str(internal_archive(build)), "archive", written.all)
    writer.build(
        str(library),
        "link",
        # The linker keeps the first copy of a shared inline function: one for every processor.
        [*written.plain, *derived.plain, *written.special, *derived.special],
        variables={
            "libraries": "$onednn -lmvec -lm -Wl,-soname,libflambeau.so "
            "-Wl,-rpath,'$$ORIGIN' -Wl,-rpath,'$$ORIGIN/../../../..'"
        },
    )
    writer.build(
        str(extension),
        "link",
        compiling.objects(sources.extension).all,
        implicit=[str(library)],
        variables={"libraries": f"{library} -Wl,-rpath,'$$ORIGIN/lib' -Wl,-rpath,'$$ORIGIN'"},
    )
    writer.default(str(extension))
    return writer.write(build / "build.ninja")


def internal_archive(build: Path) -> Path:
    """The objects of what is written by hand, whose hidden functions native tests call."""
    return build / "libflambeau_internal.a"


def _cpp_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.cpp"))


@dataclass(frozen=True)
class Objects:
    """Objects for every processor, and those for special ones."""

    plain: tuple[str, ...]
    special: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        return [*self.plain, *self.special]


@dataclass(frozen=True)
class _Compiling:
    writer: NinjaWriter
    root: Path
    build: Path
    generated: Path
    optimized: str
    sanitize: str | None

    def objects(self, sources: tuple[Path, ...]) -> Objects:
        plain: list[str] = []
        special: list[str] = []
        for source in sources:
            inside = self.generated if source.is_relative_to(self.generated) else self.root
            stem = self.build / "objects" / source.relative_to(inside).with_suffix("")
            if source.name.endswith(".simd.cpp"):
                level = self.optimized if self.sanitize else LOOPS
                for name, flags in INSTRUCTION_SETS.items():
                    target = f"{stem}.{name}.o"
                    extra = f"{level} -DFLAMBEAU_ISA={name} {flags}"
                    if inside == self.generated:
                        extra += f" {FORMULAS} {INTERLEAVED if name == 'avx512' else ''}"
                    self._compile(target, source, extra)
                    (special if flags else plain).append(target)
            else:
                self._compile(f"{stem}.o", source, self.optimized)
                plain.append(f"{stem}.o")
        return Objects(tuple(plain), tuple(special))

    def _compile(self, target: str, source: Path, extra: str) -> None:
        self.writer.build(target, "compile", [str(source)], variables={"extra": extra})
