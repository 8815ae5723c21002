"""The emulator of CUDA runs what is right, and tells a mistake of each kind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "tests" / "cuda" / "emulator"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    target = tmp_path_factory.mktemp("emulator") / "emulator_mistakes"
    flags = ["-std=c++20", "-O1", f"-I{EMULATOR / 'include'}"]
    kernels = target.with_suffix(".o")
    source = ROOT / "tests" / "cuda" / "emulator_mistakes.cu"
    subprocess.run(
        [compiler, *flags, "-fsanitize=thread", "-x", "c++", "-c", str(source), "-o", str(kernels)],
        check=True,
    )
    own = map(str, sorted(EMULATOR.glob("*.cpp")))
    subprocess.run([compiler, *flags, *own, str(kernels), "-o", str(target)], check=True)
    return target


def run(program: Path, case: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), case],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("order", ["up", "down", "shuffled"])
@pytest.mark.parametrize("streams", ["eager", "late", "random:3"])
def test_what_is_right(program: Path, order: str, streams: str) -> None:
    for case in ("right", "event"):
        done = run(
            program, case, FLAMBEAU_EMULATED_THREADS=order, FLAMBEAU_EMULATED_STREAMS=streams
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{sum(range(64))}\n", "")


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("race", "race: a write of 4 bytes"),
        ("blocks", "race: a write of 4 bytes"),
        ("outside", "outside of every allocation: a write of 4 bytes"),
        ("misaligned", "misaligned: a write of 4 bytes"),
        ("barrier", "32 of 64 threads wait at a barrier"),
    ],
)
def test_mistakes(program: Path, case: str, said: str) -> None:
    done = run(program, case)
    assert done.returncode < 0
    assert said in done.stderr


def test_the_host_may_not_touch_device_memory(program: Path) -> None:
    """Where the processor has protection keys."""
    has_keys = " ospke" in Path("/proc/cpuinfo").read_text()
    assert (run(program, "host").returncode < 0) == has_keys


def test_a_stream_that_does_not_wait_reads_what_was_there(program: Path) -> None:
    done = run(program, "stream")
    fresh = int.from_bytes(bytes([0xA5] * 4), "little", signed=True)
    assert done.stdout == f"{fresh}\n"
