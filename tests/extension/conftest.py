"""One build of the example package for all tests, whichever process they run in."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from example_package import EXAMPLE, Installed

from flambeau._build.lock import exclusive


def pip(*arguments: str) -> None:
    """Runs pip, which must not look anything up."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that the processes of one run share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "extension"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def installed(shared_folder: Path) -> Installed:
    """The package; the first process that asks builds it."""
    source, wheels, folder = (shared_folder / n for n in ("source", "wheels", "installed"))
    with exclusive(shared_folder):
        if not folder.exists():
            shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build"))
            pip("wheel", "--no-build-isolation", "--no-deps", "-w", str(wheels), str(source))
            (wheel,) = wheels.glob("*.whl")
            pip("install", "--no-deps", "--no-index", "--target", str(folder), str(wheel))
    (wheel,) = wheels.glob("*.whl")
    return Installed(source, wheel, folder)


@pytest.fixture
def example_operators(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package, imported into this process."""
    monkeypatch.syspath_prepend(str(installed.folder))
    return importlib.import_module("example_operators")
