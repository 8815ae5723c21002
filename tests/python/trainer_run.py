"""A training that tests kill: `trainer_run.py KIND CHECKPOINT RESULT WORKERS slow|fast`.

Its samples draw random numbers of Flambeau, Python and NumPy, its model drops out and normalizes,
its optimizer and schedule have state. RESULT gets the final weights and history.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flambeau
from flambeau import nn, optim
from flambeau.utils.data import Dataset, IterableDataset, WeightedRandomSampler
from flambeau.utils.trainer import Callback, EarlyStopping, Trainer, accuracy


class Noisy(Dataset[Any]):
    """Samples with noise: of Flambeau's random numbers, or of Python's and NumPy's too."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        generator = flambeau.Generator().manual_seed(1)
        self.points = flambeau.randn(150, 6, generator=generator)
        self.classes = (self.points.sum(1) > 0).long()

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> Any:
        noise = 0.1 * flambeau.randn(6)
        if not self.quiet:
            noise += 0.1 * random.random() + 0.1 * np.random.rand()
        return self.points[index] + noise, self.classes[index]


class Stream(IterableDataset[Any]):
    def __init__(self) -> None:
        self.samples = Noisy()

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self.samples)):
            if random.random() < 0.9:
                yield self.samples[i]


class Slow(Callback):
    def on_batch_end(self, trainer: Trainer) -> None:
        time.sleep(0.01)


def main(kind: str, checkpoint: str, result: str, workers: int, slow: bool) -> None:
    flambeau.set_num_threads(1)
    flambeau.manual_seed(3)
    model = nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2)
    )
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    dataset: Any = Stream() if kind == "stream" else Noisy(kind == "quiet")
    options: dict[str, Any] = {}
    if kind == "sampler":
        options["sampler"] = WeightedRandomSampler(flambeau.ones(150), 150)
    if workers:
        options["loader_options"] = {"num_workers": workers}
    trainer = Trainer(
        dataset,
        model,
        nn.CrossEntropyLoss(),
        optimizer,
        epochs=14,
        batch_size=8,
        drop_last=True,
        validation=Noisy(kind == "quiet"),
        metrics=[accuracy],
        schedule=optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=400),
        schedule_each="step",
        early_stopping=EarlyStopping(14, "validation_accuracy", "max"),
        clip_norm=1.0,
        accumulate=2,
        seed=5,
        checkpoint=checkpoint,
        checkpoint_steps=1 if kind == "samples" else 3,
        csv=Path(result).with_suffix(".csv"),
        callbacks=[Slow()] if slow else [],
        **options,
    )
    trainer.run()
    weights = [value.double().flatten().tolist() for value in model.state_dict().values()]
    text = repr([weights, trainer.history.rows, trainer.step, random.random(), np.random.rand()])
    Path(result).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "slow")
