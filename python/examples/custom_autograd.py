"""An operation with a gradient of its own: rounding that lets gradients pass (a straight-through
estimator), used to learn weights of three bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.autograd import Function, gradcheck


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 300


class Cube(Function):
    """x ** 3, its derivative written by hand."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


class StraightThroughRound(Function):
    """Rounds; backward pretends that it did nothing."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


class QuantizedLinear(nn.Linear):
    """A linear layer that computes with weights of the form k / 4, -4 <= k <= 3."""

    def forward(self, input: Tensor) -> Tensor:
        weight = StraightThroughRound.apply((self.weight * 4).clamp(-4, 3)) / 4
        return nn.functional.linear(input, weight, self.bias)


def main(options: Settings) -> float:
    """Returns the share of weights that are found exactly."""
    begin(options)
    x = flambeau.randn(5, dtype=flambeau.float64, requires_grad=True)
    print("gradient of Cube agrees with finite differences:", gradcheck(Cube.apply, (x,)))

    inputs = flambeau.randn(512, 8)
    wanted = flambeau.randint(-4, 4, [3, 8]).float() / 4
    targets = inputs @ wanted.t()
    layer = QuantizedLinear(8, 3)
    optimizer = optim.Adam(layer.parameters(), lr=0.02)
    weights: list[Tensor] = []
    progress = Progress(options.steps, "learning weights")
    for _ in progress:
        weights.append(layer.weight.detach().flatten().clone())
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(layer(inputs), targets)
        loss.backward()
        optimizer.step()
        progress.report(loss=loss.item())
    learned = (layer.weight.detach() * 4).clamp(-4, 3).round() / 4
    found = (learned == wanted).float().mean().item()
    print(f"{found:.0%} of the weights found exactly")
    with figure(options.file("custom_autograd.png")) as axes:
        axes.set_yticks([k / 4 for k in range(-4, 4)])
        axes.grid(axis="y", color="0.9")
        lines = axes.plot(flambeau.stack(weights).numpy(), linewidth=1)
        for line, weight in zip(lines, wanted.flatten().tolist(), strict=True):
            axes.plot(options.steps, weight, "o", color=line.get_color(), clip_on=False)
        axes.set(xlabel="step", ylabel="weight, and what is wanted", xlim=(0, options.steps))
    return found


if __name__ == "__main__":
    main(parse(Settings, __doc__))
