"""Two networks play a game: one draws digits, the other tells them from real ones.

The generator is convolutional (A. Radford, L. Metz, S. Chintala, 2015); what is played for is the
hinge loss, and spectral normalization keeps the judge smooth (T. Miyato and others, 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.data import digits
from shared.options import Options, begin, parse
from shared.pictures import save_images
from shared.progress import Progress, batches
from shared.scores import frechet_distance

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.nn.utils.parametrizations import spectral_norm
from flambeau.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

NOISE = 32


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 2500
    batch_size: Annotated[int, "digits per step"] = 64
    learning_rate: Annotated[float, "of both players"] = 1e-3


def generator() -> nn.Sequential:
    """Images (N, 1, 8, 8) of noise (N, NOISE, 1, 1)."""
    return nn.Sequential(
        *(nn.ConvTranspose2d(NOISE, 64, 2, bias=False), nn.BatchNorm2d(64), nn.ReLU()),
        *(nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
        *(nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh()),
    )


def judge() -> nn.Sequential:
    """Scores (N, 1) of images (N, 1, 8, 8): positive of real ones."""
    return nn.Sequential(
        *(spectral_norm(nn.Conv2d(1, 24, 3, 1, 1)), nn.LeakyReLU(0.1)),
        *(spectral_norm(nn.Conv2d(24, 48, 4, 2, 1)), nn.LeakyReLU(0.1)),
        *(spectral_norm(nn.Conv2d(48, 64, 4, 2, 1)), nn.LeakyReLU(0.1)),
        *(nn.Flatten(), spectral_norm(nn.Linear(64 * 4, 1))),
    )


def noise(count: int) -> Tensor:
    return flambeau.randn(count, NOISE, 1, 1)


def main(options: Settings) -> float:
    """Returns the Fréchet distance of what is drawn from real digits."""
    begin(options)
    data, draws, judges = digits(), generator(), judge()
    best = AveragedModel(draws, multi_avg_fn=get_ema_multi_avg_fn(0.99), use_buffers=True)
    drawing = optim.Adam(draws.parameters(), lr=options.learning_rate, betas=(0.5, 0.99))
    judging = optim.Adam(judges.parameters(), lr=options.learning_rate, betas=(0.5, 0.99))
    progress = Progress(options.steps, "playing")
    for _, (real,) in zip(progress, batches(options.batch_size, data.images), strict=False):
        with flambeau.no_grad():
            drawn = draws(noise(len(real)))
        doubt = nn.functional.relu(1 - judges(real)) + nn.functional.relu(1 + judges(drawn))
        judging.zero_grad()
        doubt.mean().backward()
        judging.step()

        score = judges(draws(noise(len(real)))).mean()
        drawing.zero_grad()
        (-score).backward()
        drawing.step()
        best.update_parameters(draws)
        progress.report(judge=doubt.mean().item(), score=score.item())
    best.eval()
    with flambeau.no_grad():
        images = best(noise(len(data.images)))
    distance = frechet_distance(images, data.images)
    least = frechet_distance(data.test_images, data.images)
    print(f"Fréchet distance from digits: {distance:.2f}, of digits from others {least:.2f}")
    save_images(options.file("dcgan.png"), -images[:100] / 2 + 0.5, 20, 5)
    return distance


if __name__ == "__main__":
    main(parse(Settings, __doc__))
