"""The package's type information, as a user's type checker sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau

pytest.importorskip("mypy", reason="the type checker is not installed")

FOLDER = Path(__file__).parent / "typing"


def check(name: str, cache: Path) -> str:
    """What mypy says about a file of typing/."""
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache)]
    command += ["--config-file", "", "--no-error-summary", "--hide-error-context", name]
    environment = dict(os.environ)
    place = Path(flambeau.__file__).parents[1]
    if place.name != "site-packages":  # a build in the tree
        environment["MYPYPATH"] = str(place)
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


def test_program(cache: Path) -> None:
    """A correct program has no errors, though mypy is strict."""
    assert check("program.py", cache) == ""


def test_mistakes(cache: Path) -> None:
    """Exactly the marked lines are errors."""
    lines = (FOLDER / "mistakes.py").read_text(encoding="utf-8").splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if "# error:" in line}
    output = check("mistakes.py", cache)
    found = {int(n) for n in re.findall(r"^mistakes\.py:(\d+): error", output, re.MULTILINE)}
    assert found == wanted, output
