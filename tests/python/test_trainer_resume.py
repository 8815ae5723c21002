"""A training that is killed goes on as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("trainer_run.py")


def _start(kind: str, folder: Path, workers: int, speed: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, RUN, kind, folder / "it.pt", folder / "it.txt", str(workers), speed],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def _undisturbed(kind: str, folder: Path, workers: int) -> str:
    folder.mkdir()
    _finish(_start(kind, folder, workers, "fast"))
    return (folder / "it.txt").read_text()


@pytest.mark.parametrize(
    ("kind", "workers", "kills"),
    [("samples", 0, 20), ("samples", 2, 8), ("sampler", 0, 5), ("stream", 0, 5), ("stream", 2, 5)],
)
def test_killed_at_any_moment(kind: str, workers: int, kills: int, tmp_path: Path) -> None:
    """The same weights, metrics and random numbers, bit for bit, after 20 x SIGKILL."""
    wanted = _undisturbed(kind, tmp_path / "whole", workers)
    folder = tmp_path / "killed"
    folder.mkdir()
    moments = random.Random(7)
    for _ in range(kills):
        process = _start(kind, folder, workers, "slow")
        before = _written(folder / "it.pt")
        while process.poll() is None and _written(folder / "it.pt") == before:
            time.sleep(0.002)
        time.sleep(moments.random() * 0.04)
        assert process.poll() is None, "it ended before it was killed often enough"
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    for _ in "ab":  # the second one finds training over
        _finish(_start(kind, folder, workers, "fast"))
        assert (folder / "it.txt").read_text() == wanted
    assert (folder / "it.csv").read_text() == (tmp_path / "whole/it.csv").read_text()
    # Killed between link() and rename(), a process leaves a hidden copy of what it wrote.
    shown = [name for name in os.listdir(folder) if not name.startswith(".")]
    assert sorted(shown) == ["it.csv", "it.pt", "it.txt"]


def test_workers_do_not_matter(tmp_path: Path) -> None:
    """With random numbers of Flambeau alone, samples are the same with any number of workers."""
    results = [_undisturbed("quiet", tmp_path / str(count), count) for count in (0, 1, 3)]
    assert results[0] == results[1] == results[2]


def _written(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0
