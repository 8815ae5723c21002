"""Two LSTM cells learn sine waves from examples and continue them; L-BFGS trains them.

L-BFGS looks at all examples at once and asks for the loss several times in a step, which is why
`step` takes a function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim

PERIOD = 20.0


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of L-BFGS"] = 30
    waves: Annotated[int, "to learn from"] = 30
    length: Annotated[int, "of each"] = 100
    future: Annotated[int, "places to continue"] = 200
    width: Annotated[int, "features that a cell remembers"] = 40


class Forecaster(nn.Module):
    """The next number after each place of sequences (N, L), and more: (N, L + future)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.first, self.second = nn.LSTMCell(1, width), nn.LSTMCell(width, width)
        self.head = nn.Linear(width, 1)

    def forward(self, sequences: Tensor, future: int = 0) -> Tensor:
        empty = sequences.new_zeros(len(sequences), self.width)
        first, second = (empty, empty), (empty, empty)
        found: list[Tensor] = []
        for place in range(sequences.shape[1] + future):
            # What is known is read; then what was found itself.
            known = place < sequences.shape[1]
            number = sequences[:, place : place + 1] if known else found[-1]
            first = self.first(number, first)
            second = self.second(first[0], second)
            found.append(self.head(second[0]))
        return flambeau.cat(found, 1)


def waves(count: int, length: int) -> Tensor:
    """Sine waves of one period that begin anywhere (count, length), in double precision."""
    start = flambeau.rand(count, 1, dtype=flambeau.float64) * 2 * math.pi
    return (start + flambeau.arange(length) * (2 * math.pi / PERIOD)).sin()


def main(options: Settings) -> float:
    """Returns the mean error of what continues waves that the model has not seen."""
    begin(options)
    data = waves(options.waves, options.length)
    model = Forecaster(options.width).double()
    optimizer = optim.LBFGS(model.parameters(), lr=0.8, max_iter=10, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(data[:, :-1]), data[:, 1:])
        loss.backward()
        return loss

    progress = Progress(options.steps, "learning waves")
    for _ in progress:
        progress.report(loss=optimizer.step(closure).item())
    whole = waves(3, options.length + options.future)
    with flambeau.no_grad():
        found = model(whole[:, : options.length], options.future - 1)
    continued = slice(options.length - 1, None)
    error = (found[:, continued] - whole[:, options.length :]).abs().mean().item()
    flat = whole[:, options.length :].abs().mean().item()
    print(f"mean error over {options.future} places that are continued: {error:.3f},")
    print(f"of a flat line {flat:.3f}")
    with figure(options.file("time_sequence.png"), 3, 1, size=(10, 6)) as axes:
        for each, wave, line in zip(axes, whole, found, strict=True):
            each.plot(wave.numpy(), color="0.8", linewidth=4, label="wave")
            places = range(options.length, options.length + options.future)
            each.plot(places, line[continued].numpy(), color="C3", label="continued")
            each.axvline(options.length, color="0.5", linestyle=":")
        axes[0].legend(loc="upper left")
    return error


if __name__ == "__main__":
    main(parse(Settings, __doc__))
