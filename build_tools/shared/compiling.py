"""How C++ sources become objects and shared libraries: flags, rules and edges of a ninja file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .instruction_sets import flags_of
from .ninja_writer import NinjaWriter

COMMON_FLAGS = (
    "-std=c++20 -fPIC -fvisibility=hidden -fopenmp-simd -fno-math-errno -fno-trapping-math "
    "-ffp-contract=off -Wall -Wextra -Wno-unused-parameter"
)
# Processors put instructions in order themselves: what compilers order, align and part for them
# makes no operator faster, and libraries a tenth larger.
COMPACT = "-fno-schedule-insns2 -fno-reorder-blocks-and-partition -falign-jumps=1 -falign-labels=1"
OPTIMIZED = f"-O2 {COMPACT}"
LOOPS = f"-O3 {COMPACT}"
# Loops over elements: integers wrap around, as NumPy's do. Sizes, in other files, do not.
ELEMENTS = "-fwrapv"
# Generated formulas: skipped comparisons (`minimum(maximum(x, a), b)`) become masks over the rest.
FORMULAS = "-fno-thread-jumps"
# And with 32 registers: the steps of unrolled iterations alternate, which hides their latency.
# Loops by hand are in their best order already.
INTERLEAVED = "-fschedule-insns -fweb -frename-registers"


def include_flags(folders: Iterable[Path], system: Iterable[Path] = ()) -> str:
    """Folders of headers; compilers keep quiet about those of `system`."""
    own = [f"-I{_quoted(folder)}" for folder in folders]
    return " ".join([*own, *(f"-isystem {_quoted(folder)}" for folder in system)])


def _quoted(path: Path) -> str:
    return f"'{path}'" if " " in str(path) else str(path)


def write_rules(writer: NinjaWriter, compiler: str, flags: str, link_flags: str = "") -> None:
    """The rules `compile` (its variable `extra`: further flags) and `link` (`libraries`)."""
    writer.variable("flags", f"{COMMON_FLAGS} {flags}")
    writer.variable("linker", compiler)
    writer.variable("link_flags", link_flags)
    # Through ccache, if the shell finds it: ninja, which compares commands, need not know of it.
    writer.rule(
        "compile",
        command=f"$$(command -v ccache) {compiler} $flags $extra -MMD -MF $out.d -c $in -o $out",
        depfile="$out.d",
        deps="gcc",
        description="compile $in",
    )
    # A header is no main file, which warnings say of everything that is odd in one. Compiled ones
    # know the exact text of what they include, comments too, which ccache does not see; and they
    # come out different each time: ccache knows them by their .sum.
    writer.rule(
        "precompile",
        command=(
            "$linker $flags $extra -w -x c++-header -MMD -MF $out.d -c $in -o $out"
            r" && sed -e 's/^[^:]*://' -e 's/\\$$//' $out.d | xargs cat | sha256sum > $out.sum"
        ),
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
    # One object for every *.simd.cpp and set of these flags; the best is picked when the library
    # loads.
    instruction_sets: Mapping[str, str] = field(default_factory=flags_of)
    # By folder of generated sources, for *.simd.cpp as in "cpu.simd": what they include first.
    precompiled: Mapping[str, Path] = field(default_factory=dict)
    # By folder of others: what they are given before their first line.
    given: Mapping[Path, Mapping[str, Path]] = field(default_factory=dict)
    rule: str = "compile"
    formulas: str = FORMULAS  # further flags of generated loops
    _ahead: dict[tuple[Path, str], str] = field(default_factory=dict)  # compiled, by header and set

    def objects(self, sources: Iterable[Path], further: str = "") -> Objects:
        """A *.simd.cpp is compiled once per instruction set, other sources once; all of these with
        further flags.
        """
        plain: list[str] = []
        special: list[str] = []
        for source in sources:
            stem = place(source, self.folder, (self.generated, *self.bases)).with_suffix("")
            is_generated = source.is_relative_to(self.generated)
            for name, flags in self._sets(source).items():
                extra = f"{flags} {further}".strip()
                if is_generated and name:
                    extra += f" {self.formulas} {INTERLEAVED if name == 'avx512' else ''}"
                target = f"{stem}.{name}.o" if name else f"{stem}.o"
                header = None if further else self._header(source, is_generated)
                ahead = self._precompiled(header, is_generated, name, extra) if header else None
                self._compile(target, source, extra, ahead, not is_generated)
                (plain if name in ("", "baseline") else special).append(target)
        return Objects(tuple(plain), tuple(special))

    def _sets(self, source: Path) -> dict[str, str]:
        """The flags that a source is compiled with, by the instruction set's name; "": for none."""
        if not source.name.endswith(".simd.cpp"):
            return {"": self.optimized}
        return {
            name: f"{self.loops} {ELEMENTS} -DFLAMBEAU_ISA={name} {flags}"
            for name, flags in self.instruction_sets.items()
        }

    def _header(self, source: Path, is_generated: bool) -> Path | None:
        """What a source includes before others, or is given, if that is compiled ahead."""
        suffix = ".simd" if source.name.endswith(".simd.cpp") else ""
        if is_generated:
            folder = source.relative_to(self.generated).parts[0]
            return self.precompiled.get(f"{folder}{suffix}")
        rooms = (room for room in self.given if source.is_relative_to(room))
        return next((self.given[room].get(suffix) for room in rooms), None)

    def _precompiled(self, header: Path, is_generated: bool, name: str, extra: str) -> str:
        """The compiled header, in a folder of its own that stands for the header's room: flags
        must be those of the unit.
        """
        kind = f"{'formulas' if is_generated else 'loops'}-{name}" if name else "plain"
        if (header, kind) not in self._ahead:
            target = f"{self.folder / 'precompiled' / kind / header.parent.name / header.name}.gch"
            self.writer.build(target, "precompile", [str(header)], variables={"extra": extra})
            self._ahead[header, kind] = target
        return self._ahead[header, kind]

    def _compile(
        self, target: str, source: Path, extra: str, ahead: str | None = None, give: bool = False
    ) -> None:
        """`ahead`: a precompiled header, which the compiler finds before the header itself. `give`:
        whether the source does not include it.
        """
        if ahead and give:
            extra += f" -include {_quoted(Path(ahead).with_suffix(''))}"
        elif ahead:
            extra += f" -iquote {_quoted(Path(ahead).parents[1])}"
        implicit = [ahead] if ahead else []
        variables = {"extra": extra}
        self.writer.build(target, self.rule, [str(source)], implicit=implicit, variables=variables)


def place(source: Path, folder: Path, bases: Iterable[Path]) -> Path:
    """Where in a folder of objects a source's object lies: as the source lies in the first of the
    bases that holds it.
    """
    base = next(base for base in bases if source.is_relative_to(base))
    return folder / source.relative_to(base)


def cpp_files(folder: Path) -> list[Path]:
    """Every .cpp below a folder, in a fixed order."""
    return sorted(folder.rglob("*.cpp"))
