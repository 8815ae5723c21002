"""The generated tests of a package's operators: those of the library, run over its declarations.
And those of a backend: the library's operators on its device.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import flambeau
from flambeau._build.compiler import BuildError
from flambeau.codegen.model.entries import Declarations
from flambeau.codegen.read.loader import Package, load_package
from flambeau.codegen.text.folders import yaml_files
from flambeau.codegen.text.source import Diagnostics

VARIABLE = "FLAMBEAU_TESTED_PACKAGE"  # tells the tests which package they are for
FOLDER = Path(flambeau.__file__).parent / "_operator_tests"
BACKEND_VARIABLE = "FLAMBEAU_TESTED_BACKEND"  # and this, which backend
BACKEND_TESTS = ("backend_basics.py", "backend_operators.py")
OF_THE_TESTS = "test_operator_harness.py"  # tests that the tests themselves find mistakes


def tested_package() -> str:
    """The package that the tests in this process are for; "": the library."""
    return os.environ.get(VARIABLE, "")


def import_package(name: str) -> ModuleType:
    """A package of operators.

    Raises:
        BuildError: where there is none of this name.
    """
    if importlib.util.find_spec(name) is None:
        raise BuildError(f"There is no package {name}: install it, or set PYTHONPATH.")
    return importlib.import_module(name)


def declarations_of(package: str) -> Declarations:
    """What an importable package declares (`own`), and what the library does."""
    module = import_package(package)
    folder = Path(module.__path__[0]) / "declarations"
    diagnostics = Diagnostics()
    files = tuple(yaml_files(folder))
    if not files:
        raise BuildError(f"{package} has no declarations: {folder} holds no .yaml file.")
    loaded = load_package(Package(package, files), diagnostics)
    diagnostics.raise_if_any()
    return loaded.declarations


def run_tests(package: str, options: Sequence[str] = ()) -> int:
    """Runs pytest over the generated tests of a package; returns its exit status.

    `options` are pytest's, such as `["-k", "softclip"]`.
    """
    try:
        _check_needs()
        declarations_of(package)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 2
    files = [str(FOLDER), f"--ignore={FOLDER / OF_THE_TESTS}"]
    return _run_pytest([*files, *options], VARIABLE, package)


def run_backend_tests(backend: str, options: Sequence[str] = ()) -> int:
    """Runs pytest over what every backend has to pass; returns its exit status."""
    try:
        _check_needs()
        flambeau.backends.load(backend)
    except (BuildError, RuntimeError) as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 2
    files = [str(FOLDER / name) for name in BACKEND_TESTS]
    plugin = ["-p", "flambeau.extension.tested_backend"]
    return _run_pytest([*files, *plugin, *options], BACKEND_VARIABLE, backend)


def _check_needs() -> None:
    for needed in ("pytest", "scipy"):
        if importlib.util.find_spec(needed) is None:
            raise BuildError(f"The tests need {needed}: pip install {needed}")


def _run_pytest(options: Sequence[str], variable: str, value: str) -> int:
    # The options of a project around the tested files are not meant for these tests.
    plain = ["-q", "-p", "no:cacheprovider", "-o", "addopts="]
    command = [sys.executable, "-m", "pytest", *plain, *options]
    environment = {**os.environ, variable: value}
    return subprocess.run(command, env=environment, check=False).returncode
