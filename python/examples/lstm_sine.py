"""An LSTM learns to continue sine waves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from shared.options import Seeded, begin, parse

import flambeau
from flambeau import Tensor, nn, optim

SEEN, CONTINUED = 40, 20


@dataclass(frozen=True)
class Settings(Seeded):
    steps: Annotated[int, "of training"] = 500
    hidden: Annotated[int, "numbers that the LSTM remembers"] = 48


class Forecaster(nn.Module):
    """Predicts the elements that follow a sequence.

    Shapes: input (N, L, 1), output (N, count, 1).
    """

    def __init__(self, hidden: int = 48) -> None:
        super().__init__()
        self.memory = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, sequence: Tensor, count: int) -> Tensor:
        """`count` further elements, each from the predictions before it."""
        output, state = self.memory(sequence)
        element = self.head(output[:, -1:])
        elements = [element]
        for _ in range(count - 1):
            output, state = self.memory(element, state)
            element = self.head(output)
            elements.append(element)
        return flambeau.cat(elements, 1)


def waves(count: int) -> Tensor:
    """Sine waves of random frequency and phase, (count, SEEN + CONTINUED, 1)."""
    frequency = flambeau.rand(count, 1) * 0.2 + 0.2
    phase = flambeau.rand(count, 1) * 2 * math.pi
    time = flambeau.arange(SEEN + CONTINUED).float()
    return (time * frequency + phase).sin().unsqueeze(-1)


def main(options: Settings) -> float:
    """Returns the root mean square error of continued waves."""
    begin(options)
    model = Forecaster(options.hidden)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    for step in range(1, options.steps + 1):
        batch = waves(32)
        optimizer.zero_grad()
        # Through its own predictions, so that it learns not to let errors grow.
        continued = model(batch[:, :SEEN], CONTINUED)
        loss = nn.functional.mse_loss(continued, batch[:, SEEN:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step}  loss {loss.item():.5f}")
    test = waves(100)
    with flambeau.no_grad():
        error = model(test[:, :SEEN], CONTINUED) - test[:, SEEN:]
    deviation = error.square().mean().sqrt().item()
    print(f"root mean square error over {CONTINUED} continued elements: {deviation:.3f}")
    return deviation


if __name__ == "__main__":
    main(parse(Settings, __doc__))
