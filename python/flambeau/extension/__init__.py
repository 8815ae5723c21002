"""Packages of operators, and of backends, outside the library; the PEP 517 build backend for them.

One line of a folder's pyproject.toml makes pip build its declarations and kernels into a wheel that
installs beside Flambeau:

    [build-system]
    requires = ["flambeau", "hatchling"]
    build-backend = "flambeau.extension"

    [project]
    name = "my-operators"
    version = "1.0"
    dependencies = ["flambeau"]

Declarations are found in `declarations/**/*.yaml`, C++ kernels in `kernels/`, Python sources in
`my_operators/`; `flambeau.extension.project.Project` describes what can be changed. Declarations
may refer to all operators of the library. The wheel holds the package `my_operators`: its
functions, a stub, the declarations, and the module `_C` that they are compiled into. Importing it
adds what is declared with `variants: [method]` to `flambeau.Tensor`.

`flambeau ops build FOLDER` builds without a wheel and prints a folder to put on PYTHONPATH;
`flambeau ops test PACKAGE` runs the tests that follow from the declarations of a package.

A wheel fits the build of Flambeau that it was compiled against. Python refuses to import it beside
another one, with a message that names a symbol `rebuild_this_package_for_flambeau_...`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Settings = dict[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """PEP 517: what is needed to build a wheel, beside what the project requires."""
    return ["hatchling>=1.27", "ninja>=1.11"]


get_requires_for_build_sdist = get_requires_for_build_wheel
get_requires_for_build_editable = get_requires_for_build_wheel


def _require_hatchling() -> None:
    """Without isolation nobody installs what a build needs; ends the process with what to do."""
    if find_spec("hatchling") is None:
        sys.exit(
            "flambeau: hatchling, which writes wheels, is not installed, and pip installs nothing "
            "to build with under --no-build-isolation: run `pip install hatchling` first"
        )


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """PEP 517: builds the project in the current folder; returns the name of the wheel."""
    _require_hatchling()
    from flambeau.extension.wheel import write_wheel

    return write_wheel(Path.cwd(), wheel_directory, "standard")


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """PEP 660: a wheel that makes the project's own files importable."""
    _require_hatchling()
    from flambeau.extension.wheel import write_wheel

    return write_wheel(Path.cwd(), wheel_directory, "editable")


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """PEP 517: the project's sources; returns the name of the archive."""
    _require_hatchling()
    from hatchling.build import build_sdist as build

    name: str = build(sdist_directory)
    return name
