"""What every backend promises, of the OpenCL one; and the command that others run it with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from backend_basics import *  # noqa: F403
from backend_operators import *  # noqa: F403
from example_packages import install_example


@pytest.fixture(scope="session")
def device(opencl: str) -> str:
    """The backend that the tests of others are run on here."""
    return opencl


def run(options: list[str], *paths: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, paths), *sys.path])}
    command = [sys.executable, "-m", "flambeau", "ops", "test", *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_command(opencl: str, shared_folder: Path) -> None:
    folder = install_example("opencl_backend", shared_folder).folder
    done = run(["--backend", opencl, "-k", "test_copies or test_as_on_the_cpu and silu"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(".") > 1 and "[100%]" in done.stdout


def test_unknown_backends_are_named() -> None:
    done = run(["--backend", "nowhere"])
    assert done.returncode == 2
    assert "no installed package brings a backend 'nowhere'" in done.stderr
