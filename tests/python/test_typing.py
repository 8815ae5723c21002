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

pytest.importorskip("mypy", reason="the type checker is not installed")

FOLDER = Path(__file__).parent / "typing"


PLACE = Path(flambeau.__file__).parents[1]


def check(name: str, cache: Path) -> str:
    """What mypy says about a file of typing/."""
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache)]
    command += ["--config-file", "", "--no-error-summary", "--hide-error-context", name]
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
    own = [line for line in done.stdout.splitlines() if line.startswith(name)]
    return "\n".join(own)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.parametrize("name", ["program.py", "training.py"])
def test_program(name: str, cache: Path) -> None:
    """A correct program has no errors, though mypy is strict."""
    assert check(name, cache) == ""


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


def test_mistakes(cache: Path) -> None:
    """Exactly the marked lines are errors."""
    lines = (FOLDER / "mistakes.py").read_text(encoding="utf-8").splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if "# error:" in line}
    output = check("mistakes.py", cache)
    found = {int(n) for n in re.findall(r"^mistakes\.py:(\d+): error", output, re.MULTILINE)}
    assert found == wanted, output
