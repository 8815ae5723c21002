"""Which systems a shared library loads on: the wheel's platform tag, from the symbols it needs."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from build_tools.shared.compiler import BuildError

Version = tuple[int, ...]

# PEP 600 lets a tag manylinux_X_Y promise that a wheel loads wherever glibc X.Y and what comes with
# it is: here, the newest symbols of GCC's libraries on distributions of that age.
_ALONGSIDE: Mapping[Version, Mapping[str, Version]] = {
    (2, 17): {"GLIBCXX": (3, 4, 19), "CXXABI": (1, 3, 7), "GCC": (4, 8, 0)},
    (2, 24): {"GLIBCXX": (3, 4, 22), "CXXABI": (1, 3, 10), "GCC": (4, 8, 0)},
    (2, 27): {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)},
    (2, 31): {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12), "GCC": (7, 0, 0)},
    (2, 34): {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)},
    (2, 35): {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)},
    (2, 39): {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0)},
}
# What such systems have without being asked.
_SYSTEM = re.compile(
    r"lib(c|m|mvec|dl|pthread|rt)\.so\.\d+|libstdc\+\+\.so\.6|libgcc_s\.so\.1|ld-linux.*"
)


@dataclass(frozen=True)
class Needs:
    """What libraries ask of a system."""

    libraries: frozenset[str]
    newest: Mapping[str, Version]  # by family of symbols, as GLIBC


def needs(libraries: Iterable[Path]) -> Needs:
    """What objdump says of some libraries together."""
    names: set[str] = set()
    newest: dict[str, Version] = {}
    for library in libraries:
        text = _headers(library)
        names.update(re.findall(r"NEEDED\s+(\S+)", text))
        references = text.partition("Version References:")[2]
        for family, number in re.findall(r"\b([A-Z]+)_(\d+(?:\.\d+)+)$", references, re.M):
            newest[family] = max(newest.get(family, ()), _version(number))
    return Needs(frozenset(names), newest)


def platform_tag(libraries: Iterable[Path]) -> str:
    """The oldest manylinux tag that libraries keep the promise of, as manylinux_2_28_x86_64.

    Raises:
        BuildError: if they need a library that not every system has, or something newer than this
            file knows.
    """
    files = list(libraries)
    needed = needs(files)
    foreign = needed.libraries - {file.name for file in files}
    foreign = frozenset(name for name in foreign if not _SYSTEM.fullmatch(name))
    if foreign:
        raise BuildError(
            f"The wheel needs {', '.join(sorted(foreign))}, which systems may not have."
        )
    glibc = max(needed.newest.get("GLIBC", ()), min(_ALONGSIDE))
    for oldest, newest in _ALONGSIDE.items():
        if all(needed.newest.get(family, ()) <= limit for family, limit in newest.items()):
            major, minor = max(glibc, oldest)[:2]
            return f"manylinux_{major}_{minor}_{platform.machine()}"
    raise BuildError(f"The wheel needs {dict(needed.newest)}, newer than any system known here.")


def _version(text: str) -> Version:
    return tuple(map(int, text.split(".")))


def _headers(library: Path) -> str:
    try:
        process = subprocess.run(
            ["objdump", "-p", str(library)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise BuildError("Tagging a wheel needs the program objdump of binutils.") from error
    if process.returncode != 0:
        raise BuildError(f"objdump cannot read {library}: {process.stderr.strip()}.")
    return process.stdout
