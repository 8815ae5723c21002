"""One build of the example package for all tests, whichever process they run in."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from example_packages import Installed, install_example


@pytest.fixture(scope="session")
def installed(shared_folder: Path) -> Installed:
    """The package."""
    return install_example("operators_package", shared_folder)


@pytest.fixture
def example_operators(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package, imported into this process."""
    monkeypatch.syspath_prepend(str(installed.folder))
    return importlib.import_module("example_operators")
