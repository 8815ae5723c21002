"""Programs written for PyTorch run unchanged under `python -m flambeau.run_as_torch`.

Each imports torch and nothing of Flambeau. It checks its own results where it can; the losses that
it prints must fall.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
HELPERS = ("formula.py", "compare.py", "same_draws.py", Path(__file__).name)
PROGRAMS = sorted(p for p in FOLDER.glob("*.py") if p.name not in HELPERS)
LOSS = re.compile(r"loss\W*([-+]?\d[\d.e+-]*)", re.IGNORECASE)


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flambeau.run_as_torch", str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program(path: Path) -> None:
    assert "flambeau" not in path.read_text()
    done = run(path)
    assert done.returncode == 0, done.stderr
    losses = [float(number) for number in LOSS.findall(done.stdout)]
    assert not losses or losses[-1] < losses[0], done.stdout


def test_arguments_reach_the_program() -> None:
    done = run(FOLDER / "mnist_cnn.py", "--epochs", "2", "--log-interval", "8")
    assert done.returncode == 0, done.stderr
    assert len(LOSS.findall(done.stdout)) == 2


def test_noise_can_come_from_numpy() -> None:
    """As compare.py runs programs: what they draw is the same each time, whatever the seed."""
    path = FOLDER / "dcgan.py"
    plain, first, second = run(path), *(run(FOLDER / "same_draws.py", str(path)) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout != plain.stdout
