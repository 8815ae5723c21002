"""A residual network learns to tell the images of a folder apart, a folder per class.

Without `--images`, a folder is drawn: circles, squares, triangles and stars of any size, place,
turn and colour, on noise.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from PIL import Image, ImageDraw
from shared.options import Options, begin, parse
from shared.pictures import figure, show
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.datasets import ImageFolder
from flambeau.datasets.transforms import Compose, RandomHorizontalFlip, resize, to_tensor
from flambeau.utils.data import DataLoader, random_split

SIDE = 32  # pixels


@dataclass(frozen=True)
class Settings(Options):
    images: Annotated[Path | None, "a folder per class; none: shapes are drawn"] = None
    drawn: Annotated[int, "images drawn of each shape"] = 600
    epochs: Annotated[int, "passes over the images"] = 12
    batch_size: Annotated[int, "images per step"] = 50
    learning_rate: Annotated[float, "of AdamW, at most"] = 4e-3


class Block(nn.Module):
    """Two convolutions beside a shortcut (K. He, X. Zhang, S. Ren, J. Sun, 2016)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        return nn.functional.relu(self.path(images) + self.shortcut(images))


def network(classes: int) -> nn.Sequential:
    """Scores (N, classes) of images (N, 3, 32, 32)."""
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()),
        *(Block(16, 16, 2), Block(16, 32, 2), Block(32, 64, 2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes)),
    )


def draw_shapes(root: Path, count: int, seed: int) -> None:
    """Writes `count` images of each shape."""
    generator = np.random.default_rng(seed)
    corners = {"circle": 40, "square": 4, "triangle": 3, "star": 10}
    for name, points in corners.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            noise = generator.normal(generator.uniform(60, 200), 15, (SIDE, SIDE, 3))
            image = Image.fromarray(noise.clip(0, 255).astype(np.uint8))
            size, turn = generator.uniform(6, 13), generator.uniform(0, 2 * math.pi)
            middle = generator.uniform(size, SIDE - size, 2)
            outline = []
            for corner in range(points):
                angle = turn + 2 * math.pi * corner / points
                radius = size * (0.4 if name == "star" and corner % 2 else 1)
                outline.append(
                    (middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle))
                )
            color = tuple(int(part) for part in generator.integers(0, 255, 3))
            ImageDraw.Draw(image).polygon(outline, fill=color)
            image.save(root / name / f"{number}.png")


def right(model: nn.Module, loader: DataLoader[Sequence[Tensor]]) -> float:
    """The share of images whose class is found."""
    model.eval()
    hits: list[bool] = []
    with flambeau.no_grad():
        for images, classes in loader:
            hits += (model(images).argmax(1) == classes).tolist()
    return sum(hits) / len(hits)


def main(options: Settings) -> float:
    """Returns the share of images, set apart for testing, whose class is found."""
    begin(options)
    with tempfile.TemporaryDirectory() as drawn:
        if options.images is None:
            draw_shapes(Path(drawn), options.drawn, options.seed)
        prepare = Compose([lambda image: resize(image, [SIDE, SIDE]), to_tensor])
        pictures = ImageFolder(options.images or drawn, transform=prepare)
        return train(pictures, options)


def train(pictures: ImageFolder, options: Settings) -> float:
    test_count = len(pictures) // 5
    training, test = random_split(pictures, [len(pictures) - test_count, test_count])
    loader = DataLoader(training, options.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test, 200)
    model, flip = network(len(pictures.classes)), RandomHorizontalFlip()
    optimizer = optim.AdamW(model.parameters(), lr=options.learning_rate, weight_decay=0.05)
    steps = options.epochs * len(loader)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, steps)
    progress = iter(bar := Progress(steps, "telling images apart"))
    for _ in range(options.epochs):
        model.train()
        for images, classes in loader:
            next(progress)
            loss = nn.functional.cross_entropy(model(flip(images)), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            bar.report(loss=loss.item())
    bar.close()
    share = right(model, test_loader)
    print(f"{share:.1%} of {test_count} images that it has not seen are told apart,")
    print(f"by guessing one of {len(pictures.classes)} classes {1 / len(pictures.classes):.1%}")
    draw(model, pictures.classes, *next(iter(test_loader)), options)
    return share


def draw(
    model: nn.Module, names: list[str], images: Tensor, classes: Tensor, options: Settings
) -> None:
    """The images that the model is least sure of, each with what it takes it for."""
    with flambeau.no_grad():
        sure, found = model(images).softmax(1).max(1)
    with figure(options.file("resnet_folder.png"), 3, 8, size=(11, 5)) as axes:
        for each, i in zip(axes.flat, sure.argsort().tolist(), strict=False):
            read, wanted = names[found[i]], names[classes[i]]
            text = read if read == wanted else f"{read}, is {wanted}"
            show(each, images[i], f"{text}\n({sure[i].item():.0%})")


if __name__ == "__main__":
    main(parse(Settings, __doc__))
