"""Training: what the trainer is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flambeau import nn, optim
from flambeau.datasets.digits import Digits
from flambeau.utils.trainer import Callback, History, ProgressBar, Trainer, accuracy, train


class _Check(Callback):
    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    def on_batch_end(self, trainer: Trainer) -> None:
        self._check()


def train_digits(
    model: nn.Module,
    digits: Digits,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    check: Callable[[], None] = lambda: None,
) -> History:
    """Trains with Adam and a cosine schedule; shows progress.

    Args:
        learning_rate: of the first epoch.
        check: called at each step; may raise to end the training.
    """
    optimizer = optim.Adam(model.parameters(), lr=learning_rate)
    return train(
        digits.train,
        model,
        nn.CrossEntropyLoss(),
        optimizer,
        epochs=epochs,
        batch_size=batch_size,
        validation=digits.test,
        validation_batch_size=len(digits.test),
        metrics=[accuracy],
        schedule=optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs, learning_rate / 100),
        progress=ProgressBar(describe=_described),
        callbacks=[_Check(check)],
    )


def _described(row: Mapping[str, float]) -> str:
    text = f"loss {row['loss']:.4f}  accuracy {row['accuracy']:6.2%}"
    if "validation_accuracy" in row:
        text += f"  test {row['validation_accuracy']:6.2%}"
    return text
