"""The package's type information, as a user's type checker sees it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau._build.lock import exclusive

pytest.importorskip("mypy", reason="the type checker is not installed")

FOLDER = Path(__file__).parent / "typing"


PLACE = Path(flambeau.__file__).parents[1]


NAMES = ("program.py", "training.py", "mistakes.py")


@pytest.fixture(scope="session")
def said(shared_folder: Path) -> str:
    """What mypy says about the files of typing/, asked once for all processes."""
    output = shared_folder / "typing" / "said.txt"
    with exclusive(output.parent):
        if not output.exists():
            output.write_text(_asked(output.parent / "cache"), encoding="utf-8")
    return output.read_text(encoding="utf-8")


def _asked(cache: Path) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache)]
    command += ["--config-file", "", "--no-error-summary", "--hide-error-context", *NAMES]
    environment = dict(os.environ)
    if PLACE.name != "site-packages":  # a build in the tree
        environment["MYPYPATH"] = str(PLACE)
    done = subprocess.run(
        command,
        cwd=FOLDER,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES[:2])
def test_program(name: str, said: str) -> None:
    """A correct program has no errors, though mypy is strict."""
    assert [line for line in said.splitlines() if line.startswith(name)] == []


def test_program_in_editors(tmp_path: Path) -> None:
    """Nor has it in the strict mode of pyright, which editors ask for completions too."""
    pytest.importorskip("basedpyright", reason="the type checker is not installed")
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(PLACE)],
        "include": [str(FOLDER / "training.py")],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--project", str(tmp_path), "--level", "error"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mistakes(said: str) -> None:
    """Exactly the marked lines are errors."""
    lines = (FOLDER / "mistakes.py").read_text(encoding="utf-8").splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if "# error:" in line}
    found = {int(n) for n in re.findall(r"^mistakes\.py:(\d+): error", said, re.MULTILINE)}
    assert wanted and found == wanted, said
