"""A variational autoencoder learns to draw digits (D. Kingma, M. Welling, 2013).

An encoder gives, for each image, a normal distribution of codes of two numbers; a decoder draws the
image of a code. The picture shows the images of all codes: digits that turn into each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from shared.data import digits
from shared.options import Options, begin, parse
from shared.pictures import figure, save_images
from shared.progress import Progress, batches

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.distributions import Normal, kl_divergence


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 4000
    batch_size: Annotated[int, "digits per step"] = 100
    learning_rate: Annotated[float, "of Adam, at most"] = 2e-3


class Autoencoder(nn.Module):
    """Codes (N, 2) of images (N, 64), pixels from 0 to 1, and images of codes."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            *(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()),
            nn.Linear(width, 4),
        )
        self.decoder = nn.Sequential(
            *(nn.Linear(2, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()),
            nn.Linear(width, 64),
        )

    def encode(self, images: Tensor) -> Normal:
        mean, log_scale = self.encoder(images).chunk(2, 1)
        return Normal(mean, log_scale.exp())

    def loss(self, images: Tensor) -> Tensor:
        """The negated bound on the log likelihood of the images, per image, in nats."""
        codes = self.encode(images)
        drawn = self.decoder(codes.rsample())
        prior = Normal(flambeau.zeros(1), flambeau.ones(1))
        return cost(drawn, images) + kl_divergence(codes, prior).sum() / len(images)


def cost(drawn: Tensor, images: Tensor) -> Tensor:
    """Of images by the logits of pixels, per image, in nats."""
    total = nn.functional.binary_cross_entropy_with_logits(drawn, images, reduction="sum")
    return total / len(images)


def main(options: Settings) -> float:
    """Returns the bound of test images, in nats per image: less is better."""
    begin(options)
    data, model = digits(), Autoencoder()
    images, test_images = (part.flatten(1) / 2 + 0.5 for part in (data.images, data.test_images))
    optimizer = optim.Adam(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, options.steps)
    progress = Progress(options.steps, "drawing digits")
    source = batches(options.batch_size, images)
    for _, (chosen,) in zip(progress, source, strict=False):
        loss = model.loss(chosen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        progress.report(loss=loss.item())
    with flambeau.no_grad():
        bound = model.loss(test_images).item()
        blind = cost(images.mean(0).expand_as(test_images).logit(1e-3), test_images).item()
        print(f"a test image costs {bound:.2f} nats, by the mean of all images {blind:.2f}")
        draw(model, test_images, data.test_labels, options)
    return bound


def draw(model: Autoencoder, images: Tensor, labels: Tensor, options: Settings) -> None:
    """The images of codes at even quantiles of the prior, and where test images have theirs."""
    quantiles = flambeau.linspace(0.03, 0.97, 20)
    places = math.sqrt(2) * flambeau.special.erfinv(2 * quantiles - 1)
    codes = flambeau.cartesian_prod(places, places)
    drawn = model.decoder(codes).sigmoid().reshape(-1, 1, 8, 8)
    save_images(options.file("vae.png"), 1 - drawn, 20, 4)
    with figure(options.file("vae_codes.png"), size=(6, 5)) as axes:
        found = model.encode(images).mean.numpy()
        points = axes.scatter(found[:, 0], found[:, 1], c=labels.numpy(), cmap="tab10", s=12)
        axes.figure.colorbar(points, label="digit")


if __name__ == "__main__":
    main(parse(Settings, __doc__))
