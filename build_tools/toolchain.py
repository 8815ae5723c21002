"""What the build of the library needs: compilers, ninja, headers of packages."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from build_tools.shared.compiler import (
    BuildError,
    find_compiler,
    find_ninja,
    find_python_headers,
)


@dataclass(frozen=True)
class Toolchain:
    """What the ninja file refers to."""

    compiler: str
    includes: tuple[Path, ...]
    ninja: str


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
    pybind11 = find_package_file("pybind11", "include/pybind11/pybind11.h").parent
    include = third_party / "include"
    _mirror(pybind11, include / "pybind11")
    return Toolchain(
        compiler=find_compiler(compiler),
        includes=(include, find_python_headers()),
        ninja=find_ninja(),
    )


def _mirror(source: Path, target: Path) -> None:
    for file in source.rglob("*.h*"):
        _copy_if_changed(file, target / file.relative_to(source))


def _copy_if_changed(source: Path, target: Path) -> None:
    if target.exists() and target.stat().st_size == source.stat().st_size:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
