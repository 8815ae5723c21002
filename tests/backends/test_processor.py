"""Which instruction set loops use: what FLAMBEAU_CPU may ask for, and what it is told otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import flambeau

SETS = ("baseline", "avx2", "avx512")
USABLE = flambeau._C._cpu_capabilities()


def run(code: str, wanted: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FLAMBEAU_CPU": wanted}
    command = [sys.executable, "-W", "error", "-c", f"import flambeau\n{code}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_best_is_taken() -> None:
    assert USABLE[0] == "baseline"
    assert [name for name in SETS if name in USABLE] == USABLE
    if not os.environ.get("FLAMBEAU_CPU"):
        assert flambeau.cpu.get_capability() == USABLE[-1]


@pytest.mark.parametrize("wanted", USABLE)
def test_a_lower_one_may_be_asked_for(wanted: str) -> None:
    code = "x = flambeau.arange(1000.)\nprint(flambeau.cpu.get_capability(), int(x.sum()))"
    done = run(code, wanted)
    assert done.stdout.split() == [wanted, "499500"], done.stderr


@pytest.mark.parametrize("wanted", [name for name in (*SETS, "sse9") if name not in USABLE])
def test_what_cannot_be_had_is_an_error(wanted: str) -> None:
    done = run("", wanted)
    assert done.returncode == 1
    assert f"Error: FLAMBEAU_CPU{'=' if wanted in SETS else ': '}" in done.stderr
    assert wanted in done.stderr
