"""The compiler and the headers that a build needs, each checked with one clear sentence."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

MINIMUM_GCC = 12


class BuildError(Exception):
    """The build cannot go on; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Toolchain:
    """What the ninja file refers to."""

    compiler: str
    includes: tuple[Path, ...]
    onednn_library: Path
    ninja: str


def find_compiler(name: str = "g++") -> str:
    """A g++ that speaks C++20, or a BuildError that says which is missing."""
    path = shutil.which(name)
    if path is None:
        raise BuildError(
            f"Flambeau needs the C++ compiler {name} (version {MINIMUM_GCC} or newer), which is "
            "not on the PATH: install it with `apt install g++`."
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
    ccache = shutil.which("ccache")
    return f"{ccache} {path}" if ccache else path


def find_python_headers() -> Path:
    """The folder of Python.h."""
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").exists():
        raise BuildError(
            f"The header Python.h is not in {include}: install it with `apt install python3-dev`."
        )
    return include


def find_package_file(package: str, name: str) -> Path:
    """Where an installed package put the file called `name`."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        raise BuildError(
            f"The package {package} is not installed: build with `pip install .`, which brings it."
        ) from None
    for file in files:
        if str(file).endswith(name):
            path = Path(str(file.locate())).resolve()
            if path.exists():
                return path
    raise BuildError(f"The package {package} is installed but has no file {name}: reinstall it.")


def find_toolchain(compiler: str, third_party: Path) -> Toolchain:
    """Checks everything and copies third-party headers into the build folder.

    pip builds in an environment whose path changes on every run; stable paths keep a build with
    nothing to do one that does nothing.
    """
    onednn = find_package_file("onednn-devel-cpu-gomp", "/dnnl.h").parent
    pybind11 = find_package_file("pybind11", "include/pybind11/pybind11.h").parent
    library = find_package_file("onednn-cpu-gomp", "/libdnnl.so.3")
    include = third_party / "include"
    _mirror(onednn / "oneapi", include / "oneapi")
    _mirror(pybind11, include / "pybind11")
    stable_library = third_party / "lib" / "libdnnl.so.3"
    _copy_if_changed(library, stable_library)
    ninja = shutil.which("ninja")
    if ninja is None:
        raise BuildError(
            "The program ninja is not on the PATH: install it with `pip install ninja`."
        )
    return Toolchain(
        compiler=find_compiler(compiler),
        includes=(include, find_python_headers()),
        onednn_library=stable_library,
        ninja=ninja,
    )


def _mirror(source: Path, target: Path) -> None:
    for file in source.rglob("*.h*"):
        _copy_if_changed(file, target / file.relative_to(source))


def _copy_if_changed(source: Path, target: Path) -> None:
    if target.exists() and target.stat().st_size == source.stat().st_size:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
