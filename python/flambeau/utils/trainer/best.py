"""The best epoch: stopping when it is long ago, and keeping its weights."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau.utils.trainer.callbacks import Callback
from flambeau.utils.trainer.checks import in_a_folder, one_of, positive_int

if TYPE_CHECKING:
    from flambeau.utils.trainer.trainer import Trainer


class Watch:
    """Says of each epoch whether it is the best so far.

    Args:
        monitor: the name of a number in the history; None: "validation_loss", or "loss" without
            validation.
        mode: "min": less is better; "max": more is.
        min_delta: smaller improvements do not count.
    """

    def __init__(
        self, monitor: str | None = None, mode: str = "min", min_delta: float = 0.0
    ) -> None:
        self.monitor = monitor
        self._sign = 1 if one_of("mode", mode, ("min", "max")) == "min" else -1
        self._min_delta = min_delta
        self.best = math.inf
        self.epoch = 0

    def value(self, trainer: Trainer) -> float:
        """The number of the epoch that is over.

        Raises:
            ValueError: if the history has no such name, or the number is NaN.
        """
        row = trainer.history.last
        name = self.monitor or ("validation_loss" if "validation_loss" in row else "loss")
        if name not in row:
            raise ValueError(f"Trainer: monitor: there is no {name!r}, only {', '.join(row)}")
        if math.isnan(row[name]):
            raise ValueError(f"Trainer: monitor: {name} is nan after epoch {row['epoch']}")
        return row[name]

    def improved(self, trainer: Trainer) -> bool:
        """Whether the epoch that is over is the best so far."""
        value = self._sign * self.value(trainer)
        if not value < self.best - self._min_delta and self.epoch:
            return False
        self.best, self.epoch = value, trainer.epoch + 1
        return True


class EarlyStopping(Callback):
    """Ends training when the last improvement is long ago.

    Args:
        patience: epochs without improvement that end training.
        monitor, mode, min_delta: what an improvement is; see `Trainer`.
        restore_best: at the end, give the model the weights of the best epoch.

    Example:
        >>> from flambeau.utils.trainer import EarlyStopping
        >>> stopping = EarlyStopping(patience=3)
        >>> stopping.patience
        3
    """

    def __init__(
        self,
        patience: int,
        monitor: str | None = None,
        mode: str = "min",
        min_delta: float = 0.0,
        restore_best: bool = True,
    ) -> None:
        self.patience = positive_int("patience", patience)
        self._watch = Watch(monitor, mode, min_delta)
        self._restore = restore_best
        self._weights: Mapping[str, Any] | None = None

    @property
    def best_epoch(self) -> int:
        """The epoch that improved last, from 1; 0: none is over."""
        return self._watch.epoch

    def on_epoch_end(self, trainer: Trainer) -> None:
        if self._watch.improved(trainer):
            if self._restore:
                state = trainer.model.state_dict()
                self._weights = {name: value.detach().clone() for name, value in state.items()}
        elif trainer.epoch + 1 - self._watch.epoch >= self.patience:
            trainer.stop()

    def on_end(self, trainer: Trainer) -> None:
        if self._weights is not None:
            trainer.model.load_state_dict(self._weights)

    def state_dict(self) -> dict[str, Any]:
        weights = None if self._weights is None else dict(self._weights)
        return {"best": self._watch.best, "epoch": self._watch.epoch, "weights": weights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._watch.best, self._watch.epoch = state["best"], state["epoch"]
        self._weights = state["weights"]


class SaveBest(Callback):
    """Writes the model's state dict after each epoch that is the best so far.

    Args:
        path: of the file, for `flambeau.load`.
        monitor, mode, min_delta: what an improvement is; see `Trainer`.

    Raises:
        ValueError: if the folder of the file does not exist.

    Example:
        >>> import os, tempfile
        >>> from flambeau import nn, optim
        >>> from flambeau.utils.trainer import SaveBest, train
        >>> x = flambeau.linspace(-1, 1, 64).unsqueeze(1)
        >>> data, line = flambeau.utils.data.TensorDataset(x, 3 * x + 1), nn.Linear(1, 1)
        >>> sgd = optim.SGD(line.parameters(), lr=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "best.pth")
        ...     callbacks = [SaveBest(path)]
        ...     _ = train(data, line, nn.MSELoss(), sgd, epochs=5, seed=0, callbacks=callbacks)
        ...     best = flambeau.load(path)  # the last, as the loss falls in each epoch
        >>> flambeau.equal(best["weight"], line.weight)
        True
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        monitor: str | None = None,
        mode: str = "min",
        min_delta: float = 0.0,
    ) -> None:
        self._path = in_a_folder("path", path)
        self._watch = Watch(monitor, mode, min_delta)

    def on_epoch_end(self, trainer: Trainer) -> None:
        if self._watch.improved(trainer):
            flambeau.save(trainer.model.state_dict(), self._path)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._watch.best, "epoch": self._watch.epoch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._watch.best, self._watch.epoch = state["best"], state["epoch"]
