"""A small training, for the tests of the trainer."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import nn, optim
from flambeau.utils.data import TensorDataset
from flambeau.utils.trainer import Trainer


def data(count: int = 24) -> TensorDataset:
    generator = flambeau.Generator().manual_seed(0)
    points = flambeau.randn(count, 3, generator=generator)
    return TensorDataset(points, (points.sum(1) > 0).long())


def network(seed: int = 1) -> nn.Sequential:
    flambeau.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))


def weights(model: nn.Module) -> list[float]:
    return [x for p in model.parameters() for x in p.flatten().tolist()]


def sgd(model: nn.Module, rate: float = 0.1) -> optim.Optimizer:
    return optim.SGD(model.parameters(), lr=rate, momentum=0.9)


def trained(**options: Any) -> tuple[nn.Module, Trainer]:
    model = network()
    options.setdefault("optimizer", sgd(model))
    optimizer = options.pop("optimizer")
    if callable(optimizer):
        optimizer = optimizer(model)
    options = {"shuffle": False, "batch_size": 6, **options}
    trainer = Trainer(data(), model, nn.CrossEntropyLoss(), optimizer, **options)
    trainer.run()
    return model, trainer
