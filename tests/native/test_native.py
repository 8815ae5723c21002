"""Runs the C++ tests: every test_*.cpp of this folder, linked with the library's objects."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from build_tools import native_tests  # noqa: E402

FOLDER = ROOT / "build" / "release"


@pytest.fixture(scope="session")
def commands() -> dict[native_tests.Program, native_tests.Command]:
    """What runs them, up to date with the library's last build."""
    if not (FOLDER / "build.ninja").exists():
        pytest.skip("the library was not built from this tree: it has no objects to link")
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    return native_tests.build_programs(FOLDER, native_tests.programs())


@pytest.mark.parametrize("program", native_tests.programs(), ids=lambda program: program.name)
def test_native(
    program: native_tests.Program,
    commands: dict[native_tests.Program, native_tests.Command],
) -> None:
    process = native_tests.run_program(commands[program])
    assert process.returncode == 0, process.stdout
