"""An LSTM learns to continue sine waves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim

SEEN, CONTINUED = 40, 20


@dataclass(frozen=True)
class Settings(Options):
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
    progress = Progress(options.steps, "continuing waves")
    for _ in progress:
        batch = waves(32)
        optimizer.zero_grad()
        # Through its own predictions, so that it learns not to let errors grow.
        continued = model(batch[:, :SEEN], CONTINUED)
        loss = nn.functional.mse_loss(continued, batch[:, SEEN:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        progress.report(loss=loss.item())
    test = waves(100)
    with flambeau.no_grad():
        found = model(test[:, :SEEN], CONTINUED)
    deviation = (found - test[:, SEEN:]).square().mean().sqrt().item()
    print(f"root mean square error over {CONTINUED} continued elements: {deviation:.3f}")
    with figure(options.file("lstm_sine.png"), 3, 1, size=(8, 5)) as axes:
        for each, wave, line in zip(axes, test.squeeze(2), found.squeeze(2), strict=False):
            each.plot(wave.numpy(), color="0.8", linewidth=4, label="wave")
            each.plot(range(SEEN, SEEN + CONTINUED), line.numpy(), color="C3", label="continued")
            each.axvline(SEEN, color="0.5", linestyle=":")
        axes[0].legend(loc="upper left")
    return deviation


if __name__ == "__main__":
    main(parse(Settings, __doc__))
