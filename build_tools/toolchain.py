"""What the build of the library needs: compilers, ninja, headers of Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from build_tools.shared.compiler import find_compiler, find_ninja, find_python_headers


@dataclass(frozen=True)
class Toolchain:
    """What the ninja file refers to."""

    compiler: str
    includes: tuple[Path, ...]
    ninja: str


def find_toolchain(compiler: str) -> Toolchain:
    """Checks that everything is there."""
    return Toolchain(
        compiler=find_compiler(compiler),
        includes=(find_python_headers(),),
        ninja=find_ninja(),
    )
