"""A progress bar on terminals, a plain line per epoch elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from flambeau._bars import progress_bar
from flambeau.utils.trainer.callbacks import Callback

if TYPE_CHECKING:
    from flambeau.utils.trainer.trainer import Trainer

_WIDTH = 16  # of the demo, a line fits 80 columns
_REDRAW_SECONDS = 0.05
_FORMAT = f"{{desc}} │{{bar:{_WIDTH}}}│ {{text}}"


def described(row: Mapping[str, float]) -> str:
    """The numbers of a row in words; those of validation last.

    Example:
        >>> described({"epoch": 1, "loss": 0.25, "accuracy": 0.9, "validation_loss": 0.5})
        'loss 0.2500  accuracy 90.00%  validation: loss 0.5000'
    """
    parts: dict[str, list[str]] = {"": [], "validation_": []}
    for name, value in row.items():
        prefix = "validation_" if name.startswith("validation_") else ""
        short = name.removeprefix(prefix)
        if short in ("epoch", "learning_rate"):
            continue
        number = f"{value:6.2%}" if "accuracy" in short else f"{value:.4f}"
        parts[prefix].append(f"{short.replace('_', ' ')} {number}")
    training, validation = ("  ".join(texts) for texts in parts.values())
    return f"{training}  validation: {validation}" if validation else training


class ProgressBar(Callback):
    """Shows how far an epoch is.

    Args:
        lines: where standard output is no terminal, print a line after each epoch.
        describe: a row of the history to text; of the epoch so far while it runs.

    Example:
        >>> from flambeau import nn, optim
        >>> from flambeau.utils.trainer import ProgressBar, train
        >>> x = flambeau.linspace(-1, 1, 64).unsqueeze(1)
        >>> data, line = flambeau.utils.data.TensorDataset(x, 3 * x + 1), nn.Linear(1, 1)
        >>> sgd = optim.SGD(line.parameters(), lr=0.5)
        >>> bar = ProgressBar(describe=lambda row: f"loss below 1: {row['loss'] < 1}")
        >>> _ = train(data, line, nn.MSELoss(), sgd, epochs=2, seed=0, callbacks=[bar])
        Epoch 1/2  loss below 1: False
        Epoch 2/2  loss below 1: True
    """

    def __init__(
        self, lines: bool = True, describe: Callable[[Mapping[str, float]], str] = described
    ) -> None:
        self._lines = lines
        self._describe = describe
        self._bar: Any = None

    def on_epoch_start(self, trainer: Trainer) -> None:
        count = len(str(trainer.epochs))
        self._title = f"Epoch {trainer.epoch + 1:>{count}}/{trainer.epochs}"
        if sys.stdout.isatty():
            self._trainer = trainer
            self._bar = progress_bar(
                self._text,
                desc=self._title,
                initial=trainer.batch,
                total=trainer.epoch_batches(),
                bar_format=_FORMAT,
                mininterval=_REDRAW_SECONDS,
                miniters=1,
            )

    def _text(self) -> str:
        trainer = self._trainer
        if len(trainer.history) > trainer.epoch:
            return self._describe(trainer.history.last)
        return self._describe(trainer.totals.compute()) if trainer.batch else ""

    def on_batch_end(self, trainer: Trainer) -> None:
        if self._bar is not None:
            self._bar.update()

    def on_epoch_end(self, trainer: Trainer) -> None:
        if self._lines and self._bar is None:
            print(f"{self._title}  {self._describe(trainer.history.last)}", flush=True)
        self.close(trainer)

    def close(self, trainer: Trainer) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
