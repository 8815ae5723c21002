"""What the trainer shows and writes: histories, tables, curves, logs, bars."""

from __future__ import annotations

import csv
import math
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from trainer_tools import data, trained

from flambeau.utils.trainer import History, ProgressBar, accuracy
from flambeau.utils.trainer.progress import described


def test_tables_and_curves(tmp_path: Path) -> None:
    from PIL import Image

    _, trainer = trained(
        epochs=3,
        metrics=[accuracy],
        validation=data(),
        csv=tmp_path / "it.csv",
        curves=tmp_path / "it.png",
    )
    with (tmp_path / "it.csv").open(newline="") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    assert rows == trainer.history.rows
    with Image.open(tmp_path / "it.png") as picture:
        assert picture.width > picture.height > 300
        colors = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    for color in ((0xC2, 0x57, 0x0C), (0x1D, 0x5F, 0xA8)):
        assert (colors == color).all(1).sum() > 100
    assert sorted(os.listdir(tmp_path)) == ["it.csv", "it.png"]


def test_logs_for_tensorboard(tmp_path: Path) -> None:
    reader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="the package tensorboard, an extra, is not installed",
    )
    path = tmp_path / "it.pt"
    _, trainer = trained(epochs=2, validation=data(), tensorboard=tmp_path / "logs")
    events = reader.EventAccumulator(str(tmp_path / "logs")).Reload()
    assert events.Tags()["scalars"] == [
        "training/learning_rate",
        "training/loss",
        "validation/loss",
    ]
    for tag, name in (("training/loss", "loss"), ("validation/loss", "validation_loss")):
        found = events.Scalars(tag)
        assert [event.step for event in found] == [4, 8]
        values = [event.value for event in found]
        np.testing.assert_allclose(values, trainer.history[name], rtol=1e-6)
    # A process that goes on from an older checkpoint: what came after it counts no more.
    logs = tmp_path / "more"
    trained(epochs=1, checkpoint=path, seed=1, tensorboard=logs)
    old = path.read_bytes()
    trained(epochs=3, checkpoint=path, seed=1, tensorboard=logs)
    path.write_bytes(old)
    trained(epochs=2, checkpoint=path, seed=1, tensorboard=logs)
    events = reader.EventAccumulator(str(logs)).Reload()
    assert [event.step for event in events.Scalars("training/loss")] == [4, 8]


def test_packages_of_reports_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from importlib import util

    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="tensorboard needs .*pip install tensorboard"):
        trained(tensorboard="logs")
    with pytest.raises(RuntimeError, match="curves needs .*pip install matplotlib"):
        trained(curves=tmp_path / "curves.png")


def test_history() -> None:
    history = History([{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.2, "accuracy": 1.0}])
    assert history.names == ["epoch", "loss", "accuracy"]
    assert math.isnan(history["accuracy"][0])
    assert [row["loss"] for row in history] == [0.5, 0.2]
    with pytest.raises(KeyError, match="there is no 'lost', only epoch, loss, accuracy"):
        history["lost"]


def test_quiet_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    trained(epochs=2)
    assert capsys.readouterr() == ("", "")
    trained(epochs=2, progress=False)
    assert capsys.readouterr() == ("", "")
    _, trainer = trained(epochs=2, progress=True, metrics=[accuracy])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"Epoch 2/2  {described(trainer.history.last)}"
    trained(epochs=10, progress=ProgressBar(describe=lambda row: "so far"))
    assert capsys.readouterr().out.splitlines()[0] == "Epoch  1/10  so far"


PROGRAM = """
import sys; sys.path[:0] = [{folder!r}]
from test_trainer_reports import *
trained(epochs=2, progress={progress}, metrics=[accuracy])
import threading; print("over", threading.active_count())
"""


@pytest.mark.parametrize("progress", [None, True, False])
def test_a_bar_on_a_terminal(progress: bool | None) -> None:
    ours, theirs = pty.openpty()
    program = PROGRAM.format(folder=str(Path(__file__).parent), progress=progress)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "90"},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        text += part
    os.close(ours)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert errors == b""
    lines = text.decode().split("\r\n")
    assert lines[-2] == "over 1"
    if progress is False:
        assert len(lines) == 2
        return
    shown = [line.split("\r")[-1] for line in lines]
    assert shown[0].startswith("Epoch 1/2 │████████████████│ loss ")
    assert shown[1].startswith("Epoch 2/2 │████████████████│ loss ")
    assert "accuracy" in shown[0]
    assert len(lines) == 4
