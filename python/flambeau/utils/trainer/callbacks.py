"""What happens around training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flambeau.utils.trainer.trainer import Trainer


class Callback:
    """Is told what happens; subclasses redefine what they need.

    All get the trainer: its `epoch` (from 0), `batch` and `step` say where it is, `history` and
    `totals` what was measured; `stop()` ends training after the epoch.

    Example:
        >>> from flambeau.utils.trainer import Callback
        >>> [name for name in dir(Callback) if name.startswith("on_")]
        ['on_batch_end', 'on_end', 'on_epoch_end', 'on_epoch_start', 'on_start']
    """

    def on_start(self, trainer: Trainer) -> None:
        """Training begins, or goes on from a checkpoint, which is loaded by now."""

    def on_epoch_start(self, trainer: Trainer) -> None:
        """An epoch begins, or goes on from a checkpoint."""

    def on_batch_end(self, trainer: Trainer) -> None:
        """A batch of training is over; `trainer.batch_loss` is its loss."""

    def on_epoch_end(self, trainer: Trainer) -> None:
        """An epoch and its validation are over; the row of `trainer.history` is there."""

    def on_end(self, trainer: Trainer) -> None:
        """Training is over."""

    def close(self, trainer: Trainer) -> None:
        """Always called, after `on_end` or whatever ended training before it."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps: tensors and plain data."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Puts back what `state_dict` returned."""
