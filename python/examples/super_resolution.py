"""A network makes photographs sharper than interpolation can.

It computes small images' features and shuffles them into pixels (W. Shi and others, 2016), and adds
this to what bicubic interpolation gives. One half of two photographs is for training, the other for
the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.data import photograph
from shared.options import Options, begin, parse
from shared.pictures import figure, show
from shared.progress import Progress
from shared.scores import decibels

import flambeau
from flambeau import Tensor, nn, optim

FACTOR = 3


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 4000
    batch_size: Annotated[int, "patches per step"] = 16
    patch: Annotated[int, "size of a small patch"] = 20
    width: Annotated[int, "channels"] = 32
    learning_rate: Annotated[float, "of Adam, at most"] = 3e-3


def smaller(images: Tensor) -> Tensor:
    return nn.functional.interpolate(
        images, scale_factor=1 / FACTOR, mode="bicubic", antialias=True
    )


def larger(images: Tensor) -> Tensor:
    return nn.functional.interpolate(images, scale_factor=FACTOR, mode="bicubic").clamp(0, 1)


class Sharpener(nn.Module):
    """Images (N, 3, H, W), pixels from 0 to 1, `FACTOR` times as large."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.details = nn.Sequential(
            *(nn.Conv2d(3, width, 5, padding=2), nn.PReLU()),
            *(nn.Conv2d(width, width, 3, padding=1), nn.PReLU()),
            *(nn.Conv2d(width, width, 3, padding=1), nn.PReLU()),
            *(nn.Conv2d(width, 3 * FACTOR**2, 3, padding=1), nn.PixelShuffle(FACTOR)),
        )

    def forward(self, images: Tensor) -> Tensor:
        return larger(images) + 0.1 * self.details(images)


def halves(name: str) -> tuple[Tensor, Tensor]:
    """The left and the right half of a photograph, (1, 3, H, W)."""
    image = photograph(name)[None, :, :426, :636]
    return image[..., :318], image[..., 318:]


def patches(images: list[Tensor], count: int, size: int) -> Tensor:
    """Random patches of images, turned and mirrored at random."""
    found = []
    for index in flambeau.randint(len(images), [count]).tolist():
        height, width = images[index].shape[2:]
        top = int(flambeau.randint(height - size + 1, ()))
        left = int(flambeau.randint(width - size + 1, ()))
        patch = images[index][0, :, top : top + size, left : left + size]
        found.append(patch.rot90(int(flambeau.randint(4, ())), (1, 2)))
    return flambeau.stack(found)


def main(options: Settings) -> float:
    """Returns by how many decibels it is better than interpolation, on what it has not seen."""
    begin(options)
    pairs = [halves(name) for name in ("china", "flower")]
    training, test = [left for left, _ in pairs], [right for _, right in pairs]
    model = Sharpener(options.width)
    optimizer = optim.Adam(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, options.steps)
    progress = Progress(options.steps, "sharpening")
    for _ in progress:
        wanted = patches(training, options.batch_size, options.patch * FACTOR)
        loss = nn.functional.l1_loss(model(smaller(wanted)), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        progress.report(loss=loss.item())
    gains = []
    with flambeau.no_grad():
        for name, image in zip(("china", "flower"), test, strict=True):
            small = smaller(image)
            smooth, sharp = decibels(larger(small), image), decibels(model(small), image)
            gains.append(sharp - smooth)
            print(f"{name}: {sharp:.2f} dB, by interpolation {smooth:.2f} dB")
        draw(model, test[1], options)
    return sum(gains) / len(gains)


def draw(model: Sharpener, image: Tensor, options: Settings) -> None:
    """A part of the photograph: by interpolation, by the network, as it is."""
    part = image[..., 150:330, 30:300]
    small = smaller(part)
    with figure(options.file("super_resolution.png"), 1, 3, size=(13, 3.4)) as axes:
        show(axes[0], larger(small)[0], "interpolated")
        show(axes[1], model(small)[0], "by the network")
        show(axes[2], part[0], "original")


if __name__ == "__main__":
    main(parse(Settings, __doc__))
