"""A multilayer perceptron learns to tell two spirals apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from shared.options import Seeded, begin, parse

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Settings(Seeded):
    epochs: Annotated[int, "of training"] = 30
    learning_rate: Annotated[float, "of AdamW, at first"] = 1e-2


def spirals(points: int) -> TensorDataset:
    """Points of two arms (points, 2) and the arm of each (points,)."""
    arm = flambeau.randint(2, [points])
    turn = flambeau.rand(points).sqrt() * 3 * math.pi
    angle = turn + arm * math.pi
    positions = flambeau.stack([turn * angle.cos(), turn * angle.sin()], 1) / (3 * math.pi)
    return TensorDataset(positions + 0.01 * flambeau.randn(points, 2), arm)


def accuracy(model: nn.Module, data: TensorDataset) -> float:
    positions, arm = data.tensors
    with flambeau.no_grad():
        return (model(positions).argmax(1) == arm).float().mean().item()


def main(options: Settings) -> float:
    """Returns the share of new points that are told apart."""
    begin(options)
    train, test = spirals(2000), spirals(500)
    model = nn.Sequential(
        nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.AdamW(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)
    for epoch in range(1, options.epochs + 1):
        total = 0.0
        loader = DataLoader(train, 50, shuffle=True)
        for positions, arm in loader:
            optimizer.zero_grad()
            loss: Tensor = criterion(model(positions), arm)
            loss.backward()
            optimizer.step()
            total += loss.item()
        schedule.step()
        if epoch % 5 == 0:
            print(
                f"epoch {epoch:2}  loss {total / len(loader):.4f}  test {accuracy(model, test):.1%}"
            )
    return accuracy(model, test)


if __name__ == "__main__":
    main(parse(Settings, __doc__))
