"""A network repaints photographs in the style of a picture, in one pass.

Style is what correlations of features are (L. Gatys, A. Ecker, M. Bethge, 2015); a network is
trained so that what it paints has those of the picture (J. Johnson, A. Alahi, L. Fei-Fei, 2016).
The features need no training: random filters of several sizes do (I. Ustyuzhaninov and others,
2016). Content is what the photograph is when it is blurred.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from shared.data import photograph
from shared.options import Options, begin, parse
from shared.pictures import figure, show
from shared.progress import Progress
from super_resolution import patches

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.datasets import read_image


@dataclass(frozen=True)
class Settings(Options):
    style: Annotated[Path | None, "an image; none: stripes and dots are drawn"] = None
    content: Annotated[Path | None, "an image; none: a photograph of scikit-learn"] = None
    steps: Annotated[int, "of training"] = 900
    batch_size: Annotated[int, "patches per step"] = 4
    patch: Annotated[int, "size of a patch, a multiple of 16"] = 128
    content_weight: Annotated[float, "how much content counts beside style"] = 60.0
    learning_rate: Annotated[float, "of Adam, at most"] = 4e-3


def convolution(
    inputs: int, outputs: int, size: int, stride: int = 1, dilation: int = 1
) -> nn.Conv2d:
    """Mirrors the image at its border, which zeros around it would show."""
    padding = size // 2 * dilation
    return nn.Conv2d(inputs, outputs, size, stride, padding, dilation, padding_mode="reflect")


class Residual(nn.Module):
    """Adds what a wider look around says."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.ReLU(),
            convolution(width, width, 3, dilation=dilation),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class Painter(nn.Module):
    """Images (N, 3, H, W), pixels from 0 to 1, painted; H and W are multiples of 4.

    Noise beside the pixels lets it paint where the image is plain, as the sky is.
    """

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        wide = 2 * width
        self.layers = nn.Sequential(
            *(convolution(4, width, 5), nn.BatchNorm2d(width)),
            *(nn.ReLU(), convolution(width, wide, 3, stride=2), nn.BatchNorm2d(wide)),
            *(nn.ReLU(), convolution(wide, wide, 3, stride=2), nn.BatchNorm2d(wide)),
            *(Residual(wide, 1), Residual(wide, 2), Residual(wide, 4)),
            *(nn.ReLU(), nn.Upsample(scale_factor=2, mode="bilinear")),
            *(convolution(wide, width, 3), nn.BatchNorm2d(width)),
            *(nn.ReLU(), nn.Upsample(scale_factor=2, mode="bilinear")),
            convolution(width, 3, 5),
        )

    def forward(self, images: Tensor) -> Tensor:
        noise = flambeau.rand_like(images[:, :1])
        return self.layers(flambeau.cat([images, noise], 1)).sigmoid()


class Style(nn.Module):
    """Correlations of what random filters of three sizes see in images, in their halves and in
    their quarters: strokes, and how they run.
    """

    def __init__(self, filters: int = 48) -> None:
        super().__init__()
        self.filters = nn.ModuleList(
            nn.Conv2d(3, filters, size, 2, padding_mode="reflect") for size in (3, 7, 11)
        )
        self.requires_grad_(False)

    def forward(self, images: Tensor) -> list[Tensor]:
        scales = [4 * images - 2]
        for _ in range(2):
            scales.append(nn.functional.avg_pool2d(scales[-1], 2))
        seen = [layer(scale).relu().flatten(2) for scale in scales for layer in self.filters]
        return [features @ features.mT / features.shape[2] for features in seen]


def drawn_style(size: int = 256) -> Tensor:
    """Blue and golden whirls (3, size, size)."""
    line = flambeau.linspace(0, 1, size)
    y, x = flambeau.meshgrid(line, line, indexing="ij")
    whirl = (40 * x + 6 * (12 * y).sin()).sin() * (35 * y + 6 * (11 * x).sin()).cos()
    gold, blue = flambeau.tensor([0.95, 0.75, 0.2]), flambeau.tensor([0.08, 0.2, 0.55])
    share = (4 * whirl).sigmoid()[None]
    stars = (whirl > 0.93).float()[None]
    return (share * gold[:, None, None] + (1 - share) * blue[:, None, None] + stars).clamp(0, 1)


def loaded(path: Path | None, otherwise: Tensor) -> Tensor:
    """An image (1, 3, H, W), H and W multiples of 4."""
    image = otherwise if path is None else read_image(path).float() / 255
    height, width = (size // 4 * 4 for size in image.shape[1:])
    return image[None, :, :height, :width]


def blurred(images: Tensor) -> Tensor:
    return nn.functional.avg_pool2d(images.mean(1, keepdim=True), 4)


def main(options: Settings) -> float:
    """Returns what share of the distance in style is left."""
    begin(options)
    photographs = [loaded(None, photograph(name)) for name in ("china", "flower")]
    content = loaded(options.content, photograph("china"))
    style = loaded(options.style, drawn_style())
    painter, seen = Painter(), Style()
    wanted = seen(style)

    def distance(images: Tensor) -> Tensor:
        """How far from the style images are, relative to what the style is."""
        pairs = zip(seen(images), wanted, strict=True)
        shares = [(a - b).square().mean() / b.square().mean() for a, b in pairs]
        return flambeau.stack(shares).sum()

    optimizer = optim.Adam(painter.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, options.steps)
    progress = Progress(options.steps, "learning to paint")
    for _ in progress:
        images = patches([*photographs, content], options.batch_size, options.patch)
        painted = painter(images)
        kept = nn.functional.mse_loss(blurred(painted), blurred(images))
        loss = options.content_weight * kept + distance(painted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        progress.report(loss=loss.item(), content=kept.item())
    painter.eval()
    with flambeau.no_grad():
        painted = painter(content)
        left = (distance(painted) / distance(content)).item()
    print(f"{left:.1%} of the distance in style is left")
    with figure(options.file("style_transfer.png"), 1, 3, size=(14, 3.6)) as axes:
        show(axes[0], content[0], "photograph")
        show(axes[1], style[0], "style")
        show(axes[2], painted[0], "painted")
    return left


if __name__ == "__main__":
    main(parse(Settings, __doc__))
