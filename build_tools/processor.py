"""Which of the instruction sets this machine's processor has, and which a build is made for."""

from __future__ import annotations

import os
from pathlib import Path

from build_tools.shared.compiler import BuildError
from build_tools.shared.compiling import INSTRUCTION_SETS

# What an instruction set needs, in the words of /proc/cpuinfo.
_FEATURES = {
    "baseline": set[str](),
    "avx2": {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe"},
    "avx512": {"avx2", "fma", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}
VARIABLE = "FLAMBEAU_INSTRUCTION_SETS"


def runnable_instruction_sets() -> list[str]:
    """Those of this processor, the smallest first."""
    words: set[str] = set()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("flags"):
                words = set(line.split())
                break
    return [name for name in INSTRUCTION_SETS if _FEATURES[name] <= words]


# Of loops that few machines fall back to: they shall be right, small, and quick to compile.
_FALLBACK = "-O1"


def built_instruction_sets() -> dict[str, str]:
    """The flags of those that loops are compiled for: this machine's best, and the baseline, which
    every processor has; all of them where the environment asks for "all".
    """
    wanted = os.environ.get(VARIABLE, "machine")
    if wanted not in ("machine", "all"):
        raise BuildError(f'{VARIABLE}: expected "machine" or "all", got "{wanted}"')
    best = runnable_instruction_sets()[-1]
    if wanted == "all":
        return INSTRUCTION_SETS
    return {"baseline": _FALLBACK} | {best: INSTRUCTION_SETS[best]}


def wheel_instruction_sets() -> dict[str, str]:
    """The flags of all of them. Processors without AVX2 are older than ten years; loops at -O3 for
    them would be a tenth of the library.
    """
    return INSTRUCTION_SETS | {"baseline": _FALLBACK}
