"""A package from nothing: what `ops new` prints builds and tests it. And builds that are ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

COMPILER = """#!/bin/sh
case "$1" in -dump*) echo 12.2.0; exit 0;; -print*) echo "/${{1#*=}}"; exit 0;; esac
echo $$ > {folder}/$$.started
exec sleep 600
"""


@pytest.fixture
def gates(tmp_path: Path, shell: dict[str, str]) -> Path:
    """An empty folder, in which a package was begun with an operator that has a kernel."""
    folder = tmp_path / "gates"
    folder.mkdir()
    new = ["flambeau", "ops", "new", "fresh", "--kind", "structured"]
    said = subprocess.run(new, cwd=folder, env=shell, capture_output=True, text=True, check=True)
    (tmp_path / "said.txt").write_text(said.stdout)
    return folder


def test_the_commands_that_are_printed(gates: Path, shell: dict[str, str]) -> None:
    said = (gates.parent / "said.txt").read_text().partition("next:")[2]
    commands = [line.strip() for line in said.splitlines()[1:]]
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=gates, env=shell, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert done.stdout.count(".") > 10, "tests ran"
    diff = ["flambeau", "ops", "diff"]
    done = subprocess.run(diff, cwd=gates, env=shell, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "generated files change" in done.stdout


def test_compilers_end_with_the_build(gates: Path, shell: dict[str, str]) -> None:
    started = gates.parent / "started"
    started.mkdir()
    compiler = gates.parent / "bin" / "endless-g++"
    compiler.write_text(COMPILER.format(folder=started))
    compiler.chmod(0o755)
    environment = {**shell, "CXX": str(compiler), "CCACHE_DISABLE": "1"}
    command = [sys.executable, "-m", "flambeau", "ops", "build", str(gates), "-j", "2"]
    build = subprocess.Popen(command, env=environment)
    try:
        assert _soon(lambda: len(list(started.iterdir())) >= 2, 120), "no compiler was started"
        pids = [int(file.stem) for file in started.iterdir()]
        build.send_signal(signal.SIGTERM)
        assert build.wait(30) == 128 + signal.SIGTERM
    finally:
        build.kill()
    assert _soon(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 10)


def _soon(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether something holds before some seconds are over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return holds()
