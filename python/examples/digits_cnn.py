"""A convolutional network reads handwritten digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.data import digits
from shared.options import Options, begin, parse
from shared.pictures import figure, show
from shared.progress import Progress, batches
from shared.scores import accuracy

import flambeau
from flambeau import nn, optim


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 600
    batch_size: Annotated[int, "digits per step"] = 64
    learning_rate: Annotated[float, "of AdamW, at most"] = 3e-3


def network() -> nn.Sequential:
    """Scores (N, 10) of images (N, 1, 8, 8)."""
    return nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 2 * 2, 10)),
    )


def main(options: Settings) -> float:
    """Returns the share of test images that are read."""
    begin(options)
    data, model = digits(), network()
    optimizer = optim.AdamW(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, options.steps)
    progress = Progress(options.steps, "reading digits")
    source = batches(options.batch_size, data.images, data.labels)
    for _, (images, labels) in zip(progress, source, strict=False):
        loss = nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        progress.report(loss=loss.item())
    share = accuracy(model, data.test_images, data.test_labels)
    print(f"{share:.1%} of {len(data.test_images)} digits that it has not seen are read")
    draw(model, options)
    return share


def draw(model: nn.Module, options: Settings) -> None:
    """The test images that the model is least sure of."""
    data = digits()
    with flambeau.no_grad():
        shares = model(data.test_images).softmax(1)
    sure, found = shares.max(1)
    with figure(options.file("digits_cnn.png"), 2, 8, size=(10, 3)) as axes:
        for each, i in zip(axes.flat, sure.argsort().tolist(), strict=False):
            wanted, read = data.test_labels[i].item(), found[i].item()
            text = f"{read}" if read == wanted else f"{read}, is {wanted}"
            show(each, -data.test_images[i] / 2 + 0.5, f"{text}  ({sure[i].item():.0%})")


if __name__ == "__main__":
    main(parse(Settings, __doc__))
