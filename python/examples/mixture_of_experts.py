"""Experts share a photograph out among them and paint it together.

A gate sends each place to the two experts that it holds for the best (N. Shazeer and others, 2017);
only these compute. The gate is paid for using all of them. One network that costs as much per
pixel paints worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.data import photograph
from shared.options import Options, begin, parse
from shared.pictures import figure, show
from shared.progress import Progress, batches
from shared.scores import decibels

import flambeau
from flambeau import Tensor, nn, optim

CHOSEN = 2


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 2000
    batch_size: Annotated[int, "pixels per step"] = 2048
    experts: Annotated[int, "how many there are"] = 12
    width: Annotated[int, "hidden features of an expert"] = 32
    learning_rate: Annotated[float, "of Adam, at most"] = 1e-2
    balance: Annotated[float, "how much the gate is paid for using all experts"] = 0.02


def waves(places: Tensor, count: int = 4) -> Tensor:
    """Places (N, 2), and sines and cosines of their multiples by powers of two."""
    angles = places[:, None] * (2.0 ** flambeau.arange(count))[:, None] * 3
    angles = angles.flatten(1)
    return flambeau.cat([places, angles.sin(), angles.cos()], 1)


FEATURES = 2 + 2 * 2 * 4


def painter(width: int) -> nn.Sequential:
    """Colours (N, 3) of features of places."""
    return nn.Sequential(
        *(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()),
        nn.Linear(width, 3),
    )


class Mixture(nn.Module):
    """Colours (N, 3) of places (N, 2), and what the gate thinks of the experts (N, experts)."""

    def __init__(self, experts: int, width: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, experts))
        self.experts = nn.ModuleList(painter(width) for _ in range(experts))

    def forward(self, places: Tensor) -> tuple[Tensor, Tensor]:
        shares = self.gate(4 * places).softmax(1)
        best, chosen = shares.topk(CHOSEN)
        best = best / best.sum(1, keepdim=True)
        features, colours = waves(places), places.new_zeros(len(places), 3)
        for number, expert in enumerate(self.experts):
            rows, rank = (chosen == number).nonzero(as_tuple=True)
            if len(rows):
                painted = expert(features[rows]) * best[rows, rank, None]
                colours = colours.index_add(0, rows, painted)
        return colours, shares


def unevenness(shares: Tensor) -> Tensor:
    """How unevenly experts are used: 1 if all are used alike."""
    used = nn.functional.one_hot(shares.argmax(1), shares.shape[1]).float().mean(0)
    return shares.shape[1] * (used * shares.mean(0)).sum()


class Single(nn.Module):
    """One network, as wide as the chosen experts together."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.painter = painter(width)

    def forward(self, places: Tensor) -> tuple[Tensor, Tensor]:
        return self.painter(waves(places)), places.new_ones(len(places), 1)


def train(
    model: nn.Module, places: Tensor, colours: Tensor, name: str, options: Settings
) -> tuple[Tensor, Tensor]:
    """What is painted, and the gate's opinion, at all places."""
    optimizer = optim.Adam(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, options.steps)
    progress = Progress(options.steps, name)
    source = batches(options.batch_size, places, colours)
    for _, (place, colour) in zip(progress, source, strict=False):
        painted, shares = model(place)
        error = nn.functional.mse_loss(painted, colour)
        optimizer.zero_grad()
        (error + options.balance * unevenness(shares)).backward()
        optimizer.step()
        schedule.step()
        progress.report(error=error.item())
    with flambeau.no_grad():
        return model(places)


def main(options: Settings) -> float:
    """Returns by how many decibels experts paint better than one network."""
    begin(options)
    image = nn.functional.avg_pool2d(photograph("china"), 4)
    height, width = image.shape[1:]
    lines = [flambeau.linspace(-1, 1, size) for size in (height, width)]
    places, colours = flambeau.cartesian_prod(*lines), image.flatten(1).T

    def as_image(rows: Tensor) -> Tensor:
        return rows.T.reshape(-1, height, width)

    experts = Mixture(options.experts, options.width)
    painted, shares = train(experts, places, colours, "experts", options)
    one = Single(int(CHOSEN**0.5 * options.width))
    alone, _ = train(one, places, colours, "one network", options)
    found = [decibels(rows.clamp(0, 1), colours) for rows in (painted, alone)]
    print(f"experts: {found[0]:.2f} dB, one network: {found[1]:.2f} dB")
    with figure(options.file("mixture_of_experts.png"), 2, 2, size=(11, 7.6)) as axes:
        show(axes[0, 0], image, "photograph")
        show(axes[0, 1], as_image(alone), f"one network: {found[1]:.1f} dB")
        show(axes[1, 0], as_image(painted), f"experts: {found[0]:.1f} dB")
        axes[1, 1].imshow(shares.argmax(1).reshape(height, width).numpy(), cmap="tab20")
        axes[1, 1].set_title("who paints where")
        axes[1, 1].axis("off")
    return found[0] - found[1]


if __name__ == "__main__":
    main(parse(Settings, __doc__))
