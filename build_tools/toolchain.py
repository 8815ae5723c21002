"""What the build of the library needs: compilers, ninja, headers of Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from build_tools.shared.compiler import (
    find_compiler,
    find_ninja,
    find_python_headers,
    machine_of,
)


@dataclass(frozen=True)
class Toolchain:
    """What the ninja file refers to."""

    compiler: str
    machine: str  # that it writes code for
    includes: tuple[Path, ...]
    ninja: str


def find_toolchain(compiler: str) -> Toolchain:
    """Checks that everything is there."""
    found = find_compiler(compiler)
    return Toolchain(
        compiler=found,
        machine=machine_of(found),
        includes=(find_python_headers(),),
        ninja=find_ninja(),
    )
