"""The site, built once for all tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flambeau._build.lock import exclusive


@pytest.fixture(scope="session")
def site(shared_folder: Path) -> Path:
    """The folder of the site, built by the command in the first process that needs it; any warning
    fails the build.
    """
    folder = shared_folder / "docs" / "site"
    with exclusive(folder.parent):
        if not folder.exists():
            command = [sys.executable, "-m", "flambeau", "docs", "build", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
            assert done.returncode == 0, done.stdout + done.stderr
            assert not done.stderr, done.stderr
    return folder
