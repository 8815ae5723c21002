"""How C++ sources become objects and shared libraries: flags, rules and edges of a ninja file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .ninja_writer import NinjaWriter

COMMON_FLAGS = (
    "-std=c++20 -fPIC -fvisibility=hidden -fopenmp-simd -fno-math-errno -fno-trapping-math "
    "-ffp-contract=off -Wall -Wextra -Wno-unused-parameter"
)
OPTIMIZED = "-O2"
LOOPS = "-O3"
# Loops over elements: integers wrap around, as NumPy's do. Sizes, in other files, do not.
ELEMENTS = "-fwrapv"
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


def include_flags(folders: Iterable[Path], system: Iterable[Path] = ()) -> str:
    """Folders of headers; compilers keep quiet about those of `system`."""
    own = [f"-I{_quoted(folder)}" for folder in folders]
    return " ".join([*own, *(f"-isystem {_quoted(folder)}" for folder in system)])


def _quoted(path: Path) -> str:
    return f"'{path}'" if " " in str(path) else str(path)


def write_rules(writer: NinjaWriter, compiler: str, flags: str, link_flags: str = "") -> None:
    """The rules `compile` (its variable `extra`: further flags) and `link` (`libraries`)."""
    writer.variable("flags", f"{COMMON_FLAGS} {flags}")
    writer.variable("linker", compiler.split()[-1])
    writer.variable("link_flags", link_flags)
    writer.rule(
        "compile",
        command=f"{compiler} $flags $extra -MMD -MF $out.d -c $in -o $out",
        depfile="$out.d",
        deps="gcc",
        description="compile $in",
    )
    # A header is no main file, which warnings say of everything that is odd in one.
    writer.rule(
        "precompile",
        command=f"{compiler} $flags $extra -w -x c++-header -MMD -MF $out.d -c $in -o $out",
        depfile="$out.d",
        deps="gcc",
        description="precompile $in",
    )
    writer.rule(
        "link",
        command="$linker -shared $link_flags -o $out $in $libraries",
        description="link $out",
    )


@dataclass(frozen=True)
class Objects:
    """Objects for every processor, and those for special ones."""

    plain: tuple[str, ...]
    special: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        # The linker keeps the first copy of a shared inline function: one for every processor.
        return [*self.plain, *self.special]


@dataclass(frozen=True)
class Compiling:
    """Writes edges from sources to objects."""

    writer: NinjaWriter
    folder: Path  # of the objects
    generated: Path  # the folder of generated sources
    bases: Sequence[Path] = ()  # a source's place below one of these names its object
    optimized: str = OPTIMIZED
    loops: str = LOOPS
    instruction_sets: Mapping[str, str] = field(default_factory=lambda: INSTRUCTION_SETS)
    # By folder of generated sources, for *.simd.cpp as in "cpu.simd": what they include first.
    precompiled: Mapping[str, Path] = field(default_factory=dict)

    def objects(self, sources: Iterable[Path], further: str = "") -> Objects:
        """A *.simd.cpp is compiled once per instruction set, other sources once; all of these with
        further flags.
        """
        plain: list[str] = []
        special: list[str] = []
        ahead: dict[tuple[Path, str], str] = {}  # compiled headers by instruction set
        for source in sources:
            stem = place(source, self.folder, (self.generated, *self.bases)).with_suffix("")
            is_generated = source.is_relative_to(self.generated)
            header = self._header(source) if is_generated else None
            for name, flags in self._sets(source).items():
                extra = f"{flags} {further}".strip()
                if is_generated and name:
                    extra += f" {FORMULAS} {INTERLEAVED if name == 'avx512' else ''}"
                if header and (header, name) not in ahead:
                    ahead[header, name] = self._precompile(header, name or "any", extra)
                target = f"{stem}.{name}.o" if name else f"{stem}.o"
                self._compile(target, source, extra, ahead[header, name] if header else None)
                (special if self.instruction_sets.get(name) else plain).append(target)
        return Objects(tuple(plain), tuple(special))

    def _sets(self, source: Path) -> dict[str, str]:
        """The flags that a source is compiled with, by the instruction set's name; "": for none."""
        if not source.name.endswith(".simd.cpp"):
            return {"": self.optimized}
        return {
            name: f"{self.loops} {ELEMENTS} -DFLAMBEAU_ISA={name} {flags}"
            for name, flags in self.instruction_sets.items()
        }

    def _header(self, source: Path) -> Path | None:
        """What a generated source includes before others, if that is compiled ahead."""
        folder = source.relative_to(self.generated).parts[0]
        suffix = ".simd" if source.name.endswith(".simd.cpp") else ""
        return self.precompiled.get(f"{folder}{suffix}")

    def _precompile(self, header: Path, name: str, extra: str) -> str:
        """The compiled header, in a folder of its own that stands for the header's room."""
        target = f"{self.folder / 'precompiled' / name / header.parent.name / header.name}.gch"
        self.writer.build(target, "precompile", [str(header)], variables={"extra": extra})
        return target

    def _compile(self, target: str, source: Path, extra: str, ahead: str | None = None) -> None:
        """`ahead`: a precompiled header, which the compiler finds before the header itself."""
        if ahead:
            extra += f" -iquote {_quoted(Path(ahead).parents[1])}"
        implicit = [ahead] if ahead else []
        variables = {"extra": extra}
        self.writer.build(target, "compile", [str(source)], implicit=implicit, variables=variables)


def place(source: Path, folder: Path, bases: Iterable[Path]) -> Path:
    """Where in a folder of objects a source's object lies: as the source lies in the first of the
    bases that holds it.
    """
    base = next(base for base in bases if source.is_relative_to(base))
    return folder / source.relative_to(base)


def cpp_files(folder: Path) -> list[Path]:
    """Every .cpp below a folder, in a fixed order."""
    return sorted(folder.rglob("*.cpp"))
