"""Which of the instruction sets a processor has, and which a build is made for."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from build_tools.shared.compiler import BuildError
from build_tools.shared.instruction_sets import flags_of, instruction_sets

VARIABLE = "FLAMBEAU_INSTRUCTION_SETS"


def runnable_instruction_sets() -> list[str]:
    """Those of this processor, the smallest first."""
    words: set[str] = set()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith(("flags", "Features")):
                words = set(line.split())
                break
    return [one.name for one in instruction_sets() if one.needs.keys() <= words]


# Of loops that few machines fall back to: they shall be right, small, and quick to compile, in
# wheels small above all.
_FALLBACK = "-Og"
_SMALL = "-Os"


def built_instruction_sets(machine: str = "") -> dict[str, str]:
    """The flags of those that loops are compiled for: this machine's best, and the baseline, which
    every processor has; all of them where the environment asks for "all". `machine`: another one
    to compile for, whose processors may be any.
    """
    wanted = os.environ.get(VARIABLE, "machine")
    if wanted not in ("machine", "all"):
        raise BuildError(f'{VARIABLE}: expected "machine" or "all", got "{wanted}"')
    here = platform.machine()
    sets = flags_of(machine or here)
    if wanted == "all":
        return sets
    if machine not in ("", here):
        return {"baseline": sets["baseline"]}
    best = runnable_instruction_sets()[-1]
    return {"baseline": _FALLBACK} | {best: sets[best]}


def wheel_instruction_sets(machine: str = "") -> dict[str, str]:
    """The flags of all of them. x86-64 without AVX2 is older than ten years; loops at -O3 for such
    processors would be a tenth of the library.
    """
    sets = flags_of(machine or platform.machine())
    return sets | {"baseline": _SMALL} if "avx2" in sets else sets
