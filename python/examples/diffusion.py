"""A diffusion model draws the digits it is asked for (J. Ho, A. Jain, P. Abbeel, 2020).

Images are blurred by noise in many small steps; a network learns to say, of an image and a step,
which noise there is. To draw, one begins with noise and takes it away. Now and then the network is
not told which digit it looks at, so that in drawing the difference that the digit makes can be
exaggerated (J. Ho, T. Salimans, 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from shared.data import digits
from shared.options import Options, begin, parse
from shared.pictures import save_images
from shared.progress import Progress, batches
from shared.scores import frechet_distance

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

UNTOLD = 10  # stands for no digit


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 2500
    batch_size: Annotated[int, "digits per step"] = 64
    learning_rate: Annotated[float, "of AdamW, at most"] = 2e-3
    noise_steps: Annotated[int, "from an image to noise"] = 60
    samples: Annotated[int, "drawn for the score"] = 1000
    guidance: Annotated[float, "how much more the digit counts in drawing"] = 0.5


class Denoiser(nn.Module):
    """The noise in images (N, 1, 8, 8), of how much of it there is (N,) and of digits (N,)."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.digits = nn.Embedding(11, 4 * width)
        self.amounts = nn.Sequential(nn.Linear(32, 4 * width), nn.SiLU())
        self.entry = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.ModuleList(Block(width, 4 * width) for _ in range(4))
        self.down = nn.Conv2d(width, width, 2, 2)
        self.up = nn.ConvTranspose2d(width, width, 2, 2)
        self.exit = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 1, 1))

    def forward(self, images: Tensor, amounts: Tensor, digits: Tensor) -> Tensor:
        angles = amounts[:, None] * flambeau.exp(flambeau.linspace(0, 5, 16))
        waves = flambeau.cat([angles.sin(), angles.cos()], 1)
        told = self.amounts(waves) + self.digits(digits)
        fine = self.blocks[0](self.entry(images), told)
        coarse = self.down(fine)
        for block in self.blocks[1:3]:
            coarse = block(coarse, told)
        return self.exit(self.blocks[3](fine + self.up(coarse), told))


class Block(nn.Module):
    """Two convolutions beside a shortcut; what is told scales and moves the channels between."""

    def __init__(self, width: int, told: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1)
        )
        self.told = nn.Linear(told, 2 * width)
        self.norm = nn.GroupNorm(8, width, affine=False)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, images: Tensor, told: Tensor) -> Tensor:
        scale, move = self.told(told)[:, :, None, None].chunk(2, 1)
        middle = self.norm(self.first(images)) * (1 + scale) + move
        return images + self.second(nn.functional.silu(middle))


def kept(amounts: Tensor) -> Tensor:
    """How much of the image's variance is left at an amount from 0 to 1 (A. Nichol, 2021)."""
    return (amounts * (math.pi / 2) * 0.98 + 0.01).cos().square()


def mixed(images: Tensor, noise: Tensor, amounts: Tensor) -> Tensor:
    share = kept(amounts)[:, None, None, None]
    return share.sqrt() * images + (1 - share).sqrt() * noise


@flambeau.no_grad()
def draw(model: nn.Module, wanted: Tensor, options: Settings) -> Tensor:
    """Images of the digits that are wanted, from pure noise."""
    images = flambeau.randn(len(wanted), 1, 8, 8)
    untold = flambeau.full_like(wanted, UNTOLD)
    steps = flambeau.linspace(1, 0, options.noise_steps + 1)
    for now, then in pairwise(steps):
        amounts = now.expand(len(wanted))
        told, free = model(images, amounts, wanted), model(images, amounts, untold)
        noise = told + options.guidance * (told - free)
        here, there = kept(now), kept(then)
        clean = ((images - (1 - here).sqrt() * noise) / here.sqrt()).clamp(-1, 1)
        # Fresh noise of the variance that the reversed step has; the rest is the noise found.
        fresh = ((1 - there) / (1 - here) * (1 - here / there)).clamp(min=0)
        direction = (images - here.sqrt() * clean) / (1 - here).sqrt()
        images = there.sqrt() * clean + (1 - there - fresh).clamp(min=0).sqrt() * direction
        images = images + fresh.sqrt() * flambeau.randn_like(images)
    return clean


def main(options: Settings) -> float:
    """Returns the Fréchet distance of what is drawn from real digits."""
    begin(options)
    data, model = digits(), Denoiser()
    best = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.995))
    optimizer = optim.AdamW(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, options.steps)
    progress = Progress(options.steps, "finding noise")
    source = batches(options.batch_size, data.images, data.labels)
    for _, (images, labels) in zip(progress, source, strict=False):
        noise, amounts = flambeau.randn_like(images), flambeau.rand(len(images))
        labels = labels.masked_fill(flambeau.rand(len(images)) < 0.1, UNTOLD)
        found = model(mixed(images, noise, amounts), amounts, labels)
        loss = nn.functional.mse_loss(found, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        best.update_parameters(model)
        progress.report(loss=loss.item())
    drawn = draw(best, data.labels[: options.samples], options)
    distance = frechet_distance(drawn, data.images)
    real = frechet_distance(data.test_images, data.images)
    print(f"Fréchet distance from digits: {distance:.2f}, of digits from others {real:.2f}")
    rows = draw(best, flambeau.arange(10).repeat_interleave(20), options)
    save_images(options.file("diffusion.png"), -rows / 2 + 0.5, 20, 5)
    return distance


if __name__ == "__main__":
    main(parse(Settings, __doc__))
