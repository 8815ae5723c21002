"""A multilayer perceptron learns to tell two spirals apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress
from shared.scores import accuracy

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Settings(Options):
    epochs: Annotated[int, "of training"] = 30
    learning_rate: Annotated[float, "of AdamW, at first"] = 1e-2


def spirals(points: int) -> TensorDataset:
    """Points of two arms (points, 2) and the arm of each (points,)."""
    arm = flambeau.randint(2, [points])
    turn = flambeau.rand(points).sqrt() * 3 * math.pi
    angle = turn + arm * math.pi
    positions = flambeau.stack([turn * angle.cos(), turn * angle.sin()], 1) / (3 * math.pi)
    return TensorDataset(positions + 0.01 * flambeau.randn(points, 2), arm)


def draw(path: Path, model: nn.Module, data: TensorDataset) -> None:
    """How likely each arm is at any place, and the points of both."""
    line = flambeau.linspace(-1.1, 1.1, 200)
    y, x = flambeau.meshgrid(line, line, indexing="ij")
    with flambeau.no_grad():
        likely = model(flambeau.stack([x, y], -1)).softmax(-1)[..., 1]
    positions, arm = data.tensors
    with figure(path, size=(5, 5)) as axes:
        extent = (-1.1, 1.1, -1.1, 1.1)
        axes.imshow(likely.numpy(), cmap="coolwarm", origin="lower", extent=extent, alpha=0.6)
        colors = ["C0" if each == 0 else "C3" for each in arm.tolist()]
        axes.scatter(*positions.T.numpy(), c=colors, s=8)
        axes.axis("off")


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
    loader = DataLoader(train, 50, shuffle=True)
    progress = Progress(options.epochs, "telling spirals apart")
    for _ in progress:
        for positions, arm in loader:
            optimizer.zero_grad()
            loss: Tensor = criterion(model(positions), arm)
            loss.backward()
            optimizer.step()
            progress.report(loss=loss.item())
        schedule.step()
    right = accuracy(model, *test.tensors)
    print(f"{right:.1%} of new points are told apart")
    draw(options.file("mlp.png"), model, test)
    return right


if __name__ == "__main__":
    main(parse(Settings, __doc__))
