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
# Generated operators and bindings check, allocate and call; there is little to find for what -O2
# has beyond these, at half as much time again.
CALLS = (
    "-O1 -fdevirtualize -fexpensive-optimizations -finline-small-functions "
    f"-foptimize-sibling-calls -falign-functions=16 {COMPACT}"
)
_CALLING = ("ops", "python")
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
    """Objects for every processor, the loops of the smallest set last, and those for special ones.
    The linker keeps the first copy of a shared inline function: a fast one for every processor.
    """

    plain: tuple[str, ...]
    baseline: tuple[str, ...]
    special: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        return [*self.plain, *self.baseline, *self.special]

    def __add__(self, other: Objects) -> Objects:
        plain, baseline = self.plain + other.plain, self.baseline + other.baseline
        return Objects(plain, baseline, self.special + other.special)


@dataclass(frozen=True)
class Compiling:
    """Writes edges from sources to objects."""

    writer: NinjaWriter
    folder: Path  # of the objects
    generated: Path  # the folder of generated sources
    bases: Sequence[Path] = ()  # a source's place below one of these names its object
    optimized: str = OPTIMIZED
    calls: str = CALLS
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
        made: dict[str, list[str]] = {"": [], "baseline": [], "special": []}
        for source in sources:
            stem = place(source, self.folder, (self.generated, *self.bases)).with_suffix("")
            room = self._room(source)
            for name, flags in self._sets(source, room).items():
                extra = f"{flags} {further}".strip()
                if room and name:
                    extra += f" {self.formulas} {INTERLEAVED if name == 'avx512' else ''}"
                target = f"{stem}.{name}.o" if name else f"{stem}.o"
                header = None if further else self._header(source, room)
                ahead = self._precompiled(header, room, name, extra) if header else None
                self._compile(target, source, extra, ahead, not room)
                made[name if name in made else "special"].append(target)
        return Objects(*map(tuple, made.values()))

    def _room(self, source: Path) -> str:
        """The folder of a generated source; "" for others."""
        inside = source.is_relative_to(self.generated)
        return source.relative_to(self.generated).parts[0] if inside else ""

    def _sets(self, source: Path, room: str) -> dict[str, str]:
        """The flags that a source is compiled with, by the instruction set's name; "": for none."""
        if not source.name.endswith(".simd.cpp"):
            return {"": self.calls if room in _CALLING else self.optimized}
        return {
            name: f"{self.loops} {ELEMENTS} -DFLAMBEAU_ISA={name} {flags}"
            for name, flags in self.instruction_sets.items()
        }

    def _header(self, source: Path, room: str) -> Path | None:
        """What a source includes before others, or is given, if that is compiled ahead."""
        suffix = ".simd" if source.name.endswith(".simd.cpp") else ""
        if room:
            return self.precompiled.get(f"{room}{suffix}")
        folders = (folder for folder in self.given if source.is_relative_to(folder))
        return next((self.given[folder].get(suffix) for folder in folders), None)

    def _precompiled(self, header: Path, room: str, name: str, extra: str) -> str:
        """The compiled header, in a folder of its own that stands for the header's room: flags
        must be those of the unit.
        """
        is_apart = room in _CALLING and self.calls != self.optimized
        kind = "calls" if is_apart else "plain"
        if name:
            kind = f"{'formulas' if room else 'loops'}-{name}"
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
