"""Transforms that draw random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.datasets.transforms.functional import (
    Size,
    center_crop,
    crop,
    height_and_width,
    hflip,
    pad,
    pair,
    vflip,
)
from flambeau.datasets.transforms.resizing import resize

_ATTEMPTS = 10


def _uniform(low: float = 0.0, high: float = 1.0) -> float:
    return low + (high - low) * flambeau.rand(()).item()


def _below(limit: int) -> int:
    return int(flambeau.randint(limit, ()).item())


def _probability(op: str, p: float) -> float:
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: p must be within [0, 1], got {brief(p)}")
    return p


class RandomHorizontalFlip:
    """Exchanges left and right with probability p.

    Example:
        >>> RandomHorizontalFlip(p=1)(flambeau.tensor([[[1, 2]]]))
        tensor([[[2, 1]]])
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = _probability("RandomHorizontalFlip", p)

    def __call__(self, image: Tensor) -> Tensor:
        """The image, flipped or not."""
        return hflip(image) if _uniform() < self.p else image

    def __repr__(self) -> str:
        return f"RandomHorizontalFlip(p={self.p})"


class RandomVerticalFlip:
    """Exchanges top and bottom with probability p.

    Example:
        >>> transform = flambeau.datasets.transforms.RandomVerticalFlip(p=1.)
        >>> transform(flambeau.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[3., 4.],
                 [1., 2.]]])
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = _probability("RandomVerticalFlip", p)

    def __call__(self, image: Tensor) -> Tensor:
        """The image, flipped or not."""
        return vflip(image) if _uniform() < self.p else image

    def __repr__(self) -> str:
        return f"RandomVerticalFlip(p={self.p})"


class RandomCrop:
    """A part of an image, at a random place.

    Args:
        size: of the part: (height, width), or one number for both.
        padding: a border that is put around the image before; see `pad`.
        fill: its value.

    Raises:
        ValueError: when called, if the image with its border is smaller than the part.

    Example:
        >>> RandomCrop(28, padding=4)(flambeau.zeros(1, 28, 28)).shape
        flambeau.Size([1, 28, 28])
    """

    def __init__(
        self, size: Size, padding: int | Sequence[int] | None = None, fill: float = 0
    ) -> None:
        self.size = pair("RandomCrop", "size", size)
        self.padding = padding
        self.fill = fill

    def __call__(self, image: Tensor) -> Tensor:
        """A part of the image."""
        if self.padding is not None:
            image = pad(image, self.padding, self.fill)
        rows, columns = height_and_width("RandomCrop", image)
        height, width = self.size
        if height > rows or width > columns:
            raise ValueError(
                f"RandomCrop: size {height}x{width} is larger than the image, {rows}x{columns}"
            )
        top, left = _below(rows - height + 1), _below(columns - width + 1)
        return crop(image, top, left, height, width)

    def __repr__(self) -> str:
        return f"RandomCrop({self.size}, padding={self.padding})"


class RandomResizedCrop:
    """A part of random size, shape and place, resized.

    Args:
        size: of the result: (height, width), or one number for both.
        scale: the smallest and largest share of the image's area.
        ratio: the smallest and largest width per height; its logarithm is uniform.
        interpolation, antialias: see `resize`.

    Example:
        >>> RandomResizedCrop(8)(flambeau.rand(3, 20, 30)).shape
        flambeau.Size([3, 8, 8])
    """

    def __init__(
        self,
        size: Size,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: str = "bilinear",
        antialias: bool = True,
    ) -> None:
        self.size = pair("RandomResizedCrop", "size", size)
        for name, values in (("scale", scale), ("ratio", ratio)):
            if len(values) != 2 or not 0 < values[0] <= values[1]:
                raise ValueError(
                    f"RandomResizedCrop: {name} must be (lowest, highest), got {brief(values)}"
                )
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation
        self.antialias = antialias

    def __call__(self, image: Tensor) -> Tensor:
        """A part of the image, resized."""
        return resize(self._part(image), self.size, self.interpolation, self.antialias)

    def _part(self, image: Tensor) -> Tensor:
        rows, columns = height_and_width("RandomResizedCrop", image)
        lowest, highest = (math.log(ratio) for ratio in self.ratio)
        for _ in range(_ATTEMPTS):
            area = rows * columns * _uniform(*self.scale)
            ratio = math.exp(_uniform(lowest, highest))
            height, width = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
            if 0 < height <= rows and 0 < width <= columns:
                top, left = _below(rows - height + 1), _below(columns - width + 1)
                return crop(image, top, left, height, width)
        # The image is too narrow for such parts: the largest middle with an allowed ratio.
        ratio = min(max(columns / rows, self.ratio[0]), self.ratio[1])
        height = max(1, min(rows, round(columns / ratio)))
        return center_crop(image, (height, max(1, min(columns, round(rows * ratio)))))

    def __repr__(self) -> str:
        return f"RandomResizedCrop({self.size}, scale={self.scale}, ratio={self.ratio})"
