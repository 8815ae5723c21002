"""Pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from PIL import Image

import flambeau
from flambeau import Tensor, nn

matplotlib.use("Agg")


GAP = 2  # white pixels between images


def save_images(path: Path, images: Tensor, columns: int, scale: int = 1) -> None:
    """Writes images (N, C, H, W), pixels from 0 to 1, side by side, each pixel `scale` times."""
    large = images.detach().clamp(0, 1).repeat_interleave(scale, 2).repeat_interleave(scale, 3)
    tiles = nn.functional.pad(large, (GAP, GAP, GAP, GAP), value=1.0)
    rows = [flambeau.cat(list(row), 2) for row in tiles.split(columns)]
    width = rows[0].shape[2]
    sheet = [nn.functional.pad(row, (0, width - row.shape[2]), value=1.0) for row in rows]
    pixels = (flambeau.cat(sheet, 1).permute(1, 2, 0) * 255).round().to(flambeau.uint8).numpy()
    Image.fromarray(pixels[..., 0] if images.shape[1] == 1 else pixels).save(path)
    print(f"picture: {path}")


@contextmanager
def figure(path: Path, *grid: int, size: tuple[float, float] = (8, 4)) -> Iterator[Any]:
    """Axes to draw on, of a grid of rows and columns; the file is written in the end."""
    from matplotlib import pyplot

    drawn, axes = pyplot.subplots(*grid, figsize=size, layout="constrained")
    try:
        yield axes
        drawn.savefig(path, dpi=120)
    finally:
        pyplot.close(drawn)
    print(f"picture: {path}")


def show(axes: Any, image: Tensor, title: str = "") -> None:
    """Draws an image (C, H, W), pixels from 0 to 1."""
    pixels = image.detach().clamp(0, 1).permute(1, 2, 0).numpy()
    axes.imshow(pixels[..., 0] if pixels.shape[2] == 1 else pixels, cmap="gray")
    axes.set_title(title)
    axes.axis("off")


def confusion(path: Path, names: list[str], expected: Tensor, found: Tensor) -> None:
    """Draws how often what is expected (N,) is found as what (N,)."""
    counts = flambeau.zeros(len(names), len(names))
    for row, column in zip(expected.tolist(), found.tolist(), strict=True):
        counts[row, column] += 1
    with figure(path, size=(4.5, 4)) as axes:
        axes.imshow((counts / counts.sum(1, keepdim=True)).numpy(), cmap="Blues", vmin=0, vmax=1)
        for row, line in enumerate(counts.int().tolist()):
            for column, count in enumerate(line):
                color = "white" if count > 0.5 * counts[row].sum().item() else "black"
                axes.text(column, row, count, ha="center", va="center", color=color)
        axes.set_xticks(range(len(names)), names)
        axes.set_yticks(range(len(names)), names)
        axes.set(xlabel="found", ylabel="expected")
