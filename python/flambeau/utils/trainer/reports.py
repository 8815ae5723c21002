"""The history as a table, as curves, and as logs for TensorBoard."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flambeau._whole_files import write_whole
from flambeau.utils.trainer.callbacks import Callback
from flambeau.utils.trainer.checks import in_a_folder

if TYPE_CHECKING:
    from flambeau.utils.trainer.trainer import Trainer

AnyPath = str | os.PathLike[str]
_REDRAW_SECONDS = 10.0


def reports_to(
    csv: AnyPath | None, curves: AnyPath | None, tensorboard: AnyPath | None
) -> list[Callback]:
    """The reports that are wanted.

    Raises:
        ValueError: for a folder that does not exist.
        RuntimeError: for TensorBoard logs without the package tensorboard, and for curves without
            matplotlib.
    """
    made: list[Callback] = []
    if csv is not None:
        made.append(Table(in_a_folder("csv", csv)))
    if curves is not None:
        made.append(Curves(in_a_folder("curves", curves)))
    if tensorboard is not None:
        made.append(TensorBoard(Path(tensorboard)))
    return made


class Table(Callback):
    """A CSV file with a line per epoch."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def on_epoch_end(self, trainer: Trainer) -> None:
        history = trainer.history
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, history.names)
        writer.writeheader()
        writer.writerows(history)
        write_whole(self._path, text.getvalue().encode())


def _check_package(argument: str, package: str) -> None:
    """Refuses before training what would fail after it."""
    if importlib.util.find_spec(package) is None:
        raise RuntimeError(
            f"Trainer: {argument} needs a package: install it with 'pip install {package}'"
        )


class Curves(Callback):
    """A picture of the history, drawn now and then and at the end."""

    def __init__(self, path: Path) -> None:
        _check_package("curves", "matplotlib")
        self._path = path
        self._drawn = time.monotonic()

    def on_epoch_end(self, trainer: Trainer) -> None:
        if time.monotonic() - self._drawn > _REDRAW_SECONDS:
            self._draw(trainer)

    def on_end(self, trainer: Trainer) -> None:
        if len(trainer.history):
            self._draw(trainer)

    def _draw(self, trainer: Trainer) -> None:
        # Here: importing matplotlib takes longer than a short training.
        from flambeau.utils.trainer.curves import draw_history

        draw_history(trainer.history, self._path)
        self._drawn = time.monotonic()


class TensorBoard(Callback):
    """Logs of scalars by step of the optimizer: "training/loss", "validation/loss" and so on."""

    def __init__(self, folder: Path) -> None:
        _check_package("tensorboard", "tensorboard")
        self._folder = folder
        self._writer: Any = None

    def on_start(self, trainer: Trainer) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._writer = EventFileWriter(str(self._folder))
        # What a killed process logged after its last checkpoint counts no more.
        start = SessionLog(status=SessionLog.START)
        self._writer.add_event(Event(step=trainer.step + 1, session_log=start))

    def on_epoch_end(self, trainer: Trainer) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [
            Summary.Value(tag=_tag(name), simple_value=value)
            for name, value in trainer.history.last.items()
            if name != "epoch"
        ]
        now, summary = time.time(), Summary(value=values)
        self._writer.add_event(Event(wall_time=now, step=trainer.step, summary=summary))
        self._writer.flush()

    def close(self, trainer: Trainer) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _tag(name: str) -> str:
    if name.startswith("validation_"):
        return f"validation/{name.removeprefix('validation_')}"
    return f"training/{name}"
