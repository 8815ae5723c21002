"""The command `flambeau`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import flambeau
from flambeau._command_line import main

ROOT = Path(__file__).resolve().parents[2]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"flambeau {flambeau.__version__}\n"
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert stated == flambeau.__version__


def test_ops_is_the_command_line_of_the_generator(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["ops", "--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("usage: flambeau ops ")
    assert main(["ops", "show", "relu", "--tests"]) == 0
    assert "reference: " in capsys.readouterr().out
    assert main(["ops", "show", "nothing"]) == 2
    assert capsys.readouterr().err.startswith("flambeau ops show: error: ")


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    text = capsys.readouterr().out
    for option in (
        "--epochs",
        "--batch-size",
        "--learning-rate",
        "--seed",
        "--output",
        "--device",
        "--threads",
    ):
        assert option in text


def test_bad_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--epochs", "0"])
    assert stop.value.code == 2
    assert "must be positive" in capsys.readouterr().err


def test_unknown_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--device", "nowhere:1"]) == 1
    error = capsys.readouterr().err
    assert "--device nowhere:1: no installed package brings a backend 'nowhere'" in error


def test_backends_of_packages(tmp_path: Path) -> None:
    """A package's entry point is imported when its device is asked for."""
    (tmp_path / "brings_lamp.py").write_text("raise ImportError('the lamp is out')")
    information = tmp_path / "brings_lamp-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: brings-lamp\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[flambeau.backends]\nlamp = brings_lamp\n")
    program = """
import flambeau
flambeau.backends.load("cpu")
for name in ("lamp", "candle"):
    try:
        flambeau.backends.load(name)
    except Exception as error:
        print(type(error).__name__, error)
"""
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert run.returncode == 0, run.stderr
    first, second = run.stdout.splitlines()
    assert first == "ImportError the lamp is out"
    assert second.startswith("RuntimeError no installed package brings a backend 'candle'")


def test_training_reads_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = flambeau.get_num_threads()
    picture = tmp_path / "picture.png"
    try:
        assert main(["demo", "--output", str(picture)]) == 0
    finally:
        flambeau.set_num_threads(threads)
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("Epoch") for line in lines) == 12
    accuracy = float(lines[-2].split()[2].rstrip("%"))
    assert accuracy >= 98
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["picture.png"]


def test_folder_of_the_output_must_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--output", str(tmp_path / "no" / "x.png")]) == 1
    assert "does not exist" in capsys.readouterr().err


def test_missing_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib import util

    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "sklearn" else object())
    assert main(["demo"]) == 1
    assert "pip install scikit-learn" in capsys.readouterr().err


def test_interrupt(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "flambeau", "demo", "--epochs", "100000"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Epoch"):
            break
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Interrupted" in errors
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())
