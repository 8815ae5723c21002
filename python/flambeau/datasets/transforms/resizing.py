"""Images of other sizes.

Rows and columns are resized one after the other, each by a matrix product: element (i, j) of the
matrix is the weight of input j in output i.
"""

from __future__ import annotations

from functools import lru_cache

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.datasets.transforms.functional import Size, height_and_width, pair


def resize(
    image: Tensor, size: Size, interpolation: str = "bilinear", antialias: bool = True
) -> Tensor:
    """An image of another size.

    Args:
        image: of shape (..., H, W).
        size: (height, width); or one number, of the shorter side: the ratio of both stays.
        interpolation: "bilinear": between the four nearest pixels; "nearest": the nearest one.
        antialias: with "bilinear", average over all pixels that an output pixel covers.

    Returns:
        An image of the same dtype; integers are rounded.

    Raises:
        ValueError: for sizes that are not positive, or another interpolation.

    Example:
        >>> resize(flambeau.tensor([[[0.0, 1.0, 2.0, 3.0]]]), (1, 2), antialias=False)
        tensor([[[0.5000, 2.5000]]])
    """
    rows, columns = height_and_width("resize", image)
    if 0 in (rows, columns):
        raise ValueError(f"resize: the image is empty, of shape {tuple(image.shape)}")
    if interpolation not in ("bilinear", "nearest"):
        raise ValueError(
            f"resize: interpolation must be 'bilinear' or 'nearest', got {brief(interpolation)}"
        )
    height, width = pair("resize", "size", size)
    if isinstance(size, int):
        shorter = min(rows, columns)
        height, width = (max(1, size * side // shorter) for side in (rows, columns))
    if (height, width) == (rows, columns):
        return image
    if interpolation == "nearest":
        return image[..., _nearest(rows, height), :][..., _nearest(columns, width)]
    floating = image if image.dtype.is_floating_point else image.to(flambeau.float32)
    down = _weights(rows, height, antialias).to(floating)
    across = _weights(columns, width, antialias).to(floating)
    resized = down @ floating @ across.t()
    if image.dtype.is_floating_point:
        return resized
    return resized.round().to(image.dtype)


def _nearest(count: int, wanted: int) -> Tensor:
    return flambeau.arange(wanted) * count // wanted


@lru_cache(maxsize=64)
def _weights(count: int, wanted: int, antialias: bool) -> Tensor:
    """Weights of a triangle around the place of each output pixel, of shape (wanted, count)."""
    scale = count / wanted
    half = max(scale, 1.0) if antialias else 1.0
    centers = (flambeau.arange(wanted, dtype=flambeau.float64) + 0.5) * scale
    if not antialias:
        centers = centers.clamp(0.5, count - 0.5)
    places = flambeau.arange(count, dtype=flambeau.float64) + 0.5
    distances = (places - centers.unsqueeze(1)).abs() / half
    weights = (1 - distances).clamp(min=0)
    return weights / weights.sum(1, keepdim=True)
