"""The site, built once for all tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built by the command; any warning fails the build."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "flambeau", "docs", "build", str(folder)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert process.returncode == 0, process.stdout + process.stderr
    assert not process.stderr, process.stderr
    return folder
