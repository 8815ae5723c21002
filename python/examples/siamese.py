"""A network learns which images show the same digit, and places them in the plane.

It sees two images at a time and is told only whether they are of one digit; it moves those that are
together and others apart (R. Hadsell, S. Chopra, Y. LeCun, 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.data import digits
from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress, batches

import flambeau
from flambeau import Tensor, nn, optim


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 1000
    batch_size: Annotated[int, "pairs per step"] = 100
    margin: Annotated[float, "distance at which different digits are far enough"] = 1.0
    features: Annotated[int, "dims of the places of images; two are drawn"] = 2
    learning_rate: Annotated[float, "of AdamW, at most"] = 3e-3


def network(features: int) -> nn.Sequential:
    """Places (N, features) of images (N, 1, 8, 8)."""
    return nn.Sequential(
        *(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU()),
        *(nn.Conv2d(24, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU()),
        *(nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 16, 64), nn.ReLU()),
        nn.Linear(64, features),
    )


def contrastive(distance: Tensor, same: Tensor, margin: float) -> Tensor:
    """Pulls what is the same together, and pushes the rest to the margin."""
    missing = nn.functional.relu(margin - distance)
    return flambeau.where(same, distance.square(), missing.square()).mean()


def pairs(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Two lists of images, and whether what they show is the same: it is for about half of them."""
    half = len(labels) // 4 * 2
    # Sorted by their labels, neighbours mostly show the same; the others are as it happens.
    alike = labels[:half].argsort().reshape(-1, 2)
    others = flambeau.arange(half, 2 * half).reshape(-1, 2)
    first, second = flambeau.cat([alike, others]).T
    return images[first], images[second], labels[first] == labels[second]


def ranked_rightly(distance: Tensor, same: Tensor) -> float:
    """How often two that are the same are nearer than two that are not: the area under the curve
    of receivers.
    """
    order = distance.argsort()
    ranks = flambeau.empty(len(order)).index_copy(0, order, flambeau.arange(1.0, len(order) + 1))
    far, near = int((~same).sum()), int(same.sum())
    return ((ranks[~same].sum() - far * (far + 1) / 2) / (far * near)).item()


def main(options: Settings) -> float:
    """Returns how often two new images of one digit are nearer than two of different ones."""
    begin(options)
    data, model = digits(), network(options.features)
    optimizer = optim.AdamW(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, options.steps)
    progress = Progress(options.steps, "comparing digits")
    source = batches(2 * options.batch_size, data.images, data.labels)
    for _, (images, labels) in zip(progress, source, strict=False):
        first, second, same = pairs(images, labels)
        # Both at once: one normalization of the batch.
        places = model(flambeau.cat([first, second])).chunk(2)
        distance = nn.functional.pairwise_distance(*places)
        loss = contrastive(distance, same, options.margin)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        progress.report(loss=loss.item())
    model.eval()
    with flambeau.no_grad():
        found = model(data.test_images)
    rows, columns = flambeau.triu_indices(len(found), len(found), 1)
    same = data.test_labels[rows] == data.test_labels[columns]
    pixels = data.test_images.flatten(1)
    share, by_pixels = (
        ranked_rightly((each[rows] - each[columns]).norm(dim=1), same) for each in (found, pixels)
    )
    print(f"{share:.1%} of pairs of pairs of new images are ranked rightly,")
    print(f"by the distance of their pixels {by_pixels:.1%}")
    with figure(options.file("siamese.png"), size=(7, 5.5)) as axes:
        for digit in range(10):
            points = found[data.test_labels == digit].numpy()
            axes.scatter(points[:, 0], points[:, 1], s=12, label=str(digit))
        axes.legend(title="digit")
    return share


if __name__ == "__main__":
    main(parse(Settings, __doc__))
