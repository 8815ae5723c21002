"""The compiler, headers and programs that a build needs, each checked with one clear sentence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

MINIMUM_GCC = 12
_SHARED = "libstdc++.so"


class BuildError(Exception):
    """The build cannot go on; the message is one sentence that says what to do."""


def compiler_name() -> str:
    """The compiler to use: the variable CXX, or g++."""
    return os.environ.get("CXX", "g++")


def find_compiler(name: str = "g++") -> str:
    """A g++ that speaks C++20, or a BuildError that says which is missing."""
    path = shutil.which(name)
    if path is None:
        target = name.removesuffix("-g++")  # Debian's compilers for other machines
        package = "g++" if target == name else f"g++-{target}"
        raise BuildError(
            f"Flambeau needs the C++ compiler {name} (version {MINIMUM_GCC} or newer), which is "
            f"not on the PATH: install it with `apt install {package}`."
        )
    probe = [path, "-dumpfullversion", "-dumpversion"]
    output = subprocess.run(probe, capture_output=True, text=True, check=False).stdout
    match = re.match(r"(\d+)", output)
    if match is None:
        raise BuildError(f"{path} does not answer -dumpversion: it does not seem to be g++.")
    if int(match[1]) < MINIMUM_GCC:
        raise BuildError(
            f"{path} is g++ {output.strip()}, but Flambeau needs version {MINIMUM_GCC} or newer: "
            f"install g++-{MINIMUM_GCC} and set CXX=g++-{MINIMUM_GCC}."
        )
    if not Path(file_of(path, _SHARED)).is_absolute():
        raise BuildError(
            f"{path} has no {_SHARED}, so that every library would hold a copy of its own, between "
            "which no exception or stream can pass: set CXX to a g++ that has one."
        )
    return path


def file_of(compiler: str, library: str) -> str:
    """The path of a library that the compiler links, or its bare name where it has none."""
    probe = [compiler, f"-print-file-name={library}"]
    return subprocess.run(probe, capture_output=True, text=True, check=True).stdout.strip()


def machine_of(compiler: str) -> str:
    """The machine that a compiler writes code for, as `platform.machine` names it."""
    probe = [compiler, "-dumpmachine"]
    return subprocess.run(probe, capture_output=True, text=True, check=True).stdout.partition("-")[
        0
    ]


def math_libraries(compiler: str) -> list[str]:
    """What links functions of numbers, and those of vectors where the C library has them."""
    found = Path(file_of(compiler, "libmvec.so"))
    return [*(["-lmvec"] if found.is_absolute() else []), "-lm"]


def find_python_headers() -> Path:
    """The folder of Python.h."""
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").exists():
        raise BuildError(
            f"The header Python.h is not in {include}: install it with `apt install python3-dev`."
        )
    return include


def find_ninja() -> str:
    """ninja beside the running Python, or on the PATH."""
    beside = Path(sys.executable).parent / "ninja"
    found = str(beside) if beside.exists() else shutil.which("ninja")
    if found is None:
        raise BuildError(
            "The program ninja is not on the PATH: install it with `pip install ninja`."
        )
    return found
