"""Transforms that are plain functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor, nn
from flambeau._values import brief

Size = int | Sequence[int]


def to_tensor(image: Any) -> Tensor:
    """An image as a tensor of float32 within [0, 1], of shape (channels, height, width).

    Args:
        image: a tensor of shape (..., channels, height, width); a NumPy array of shape
            (height, width) or (height, width, channels); or an image of Pillow. Elements of uint8
            are divided by 255, others become float32 as they are.

    Raises:
        TypeError: for something else.

    Example:
        >>> to_tensor(flambeau.tensor([[[0, 51, 255]]], dtype=flambeau.uint8))
        tensor([[[0.0000, 0.2000, 1.0000]]])
    """
    if not isinstance(image, Tensor):
        image = _from_array(image)
    if image.dtype == flambeau.uint8:
        return image.to(flambeau.float32).div_(255)
    return image.to(flambeau.float32)


def _from_array(image: Any) -> Tensor:
    import numpy

    if not hasattr(image, "__array_interface__"):
        raise TypeError(
            "to_tensor: expected a tensor, a NumPy array or an image of Pillow, got an object of "
            f"type {type(image).__name__}"
        )
    array = numpy.array(image)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3:
        raise TypeError(
            "to_tensor: expected an array of shape (height, width) or (height, width, channels), "
            f"got shape {array.shape}"
        )
    if array.dtype == bool:
        array = array.astype(numpy.uint8) * 255  # black and white, as Pillow has it
    return flambeau.from_numpy(array).permute(2, 0, 1).contiguous()


def height_and_width(op: str, image: Any) -> tuple[int, int]:
    """The last two sizes of an image.

    Raises:
        TypeError: for something that is no tensor.
        ValueError: for a tensor without them.
    """
    if not isinstance(image, Tensor):
        raise TypeError(
            f"{op}: expected a tensor, got an object of type {type(image).__name__}; to_tensor "
            "makes tensors of other images"
        )
    if image.dim() < 2:
        raise ValueError(
            f"{op}: expected shape (..., height, width), got shape {tuple(image.shape)}"
        )
    return image.shape[-2], image.shape[-1]


def pair(op: str, name: str, size: Size) -> tuple[int, int]:
    """(height, width) of one size or two.

    Raises:
        ValueError: if they are not one or two positive ints.
    """
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    if len(sizes) != 2 or not all(isinstance(s, int) and s > 0 for s in sizes):
        raise ValueError(f"{op}: {name} must be one or two positive ints, got {brief(size)}")
    return sizes[0], sizes[1]


def crop(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """A part of an image, as a view.

    Args:
        image: of shape (..., H, W).
        top: the first row.
        left: the first column.
        height, width: of the part.

    Raises:
        ValueError: if the part is not within the image.

    Example:
        >>> crop(flambeau.arange(9).reshape(1, 3, 3), 1, 0, 2, 2)
        tensor([[[3, 4],
                 [6, 7]]])
    """
    rows, columns = height_and_width("crop", image)
    inside = 0 <= top <= rows - height and 0 <= left <= columns - width
    if not inside or height <= 0 or width <= 0:
        raise ValueError(
            f"crop: {height}x{width} at ({top}, {left}) is not within an image of {rows}x{columns}"
        )
    return image[..., top : top + height, left : left + width]


def center_crop(image: Tensor, size: Size) -> Tensor:
    """The middle of an image, as a view.

    Args:
        image: of shape (..., H, W).
        size: of the part: (height, width), or one number for both.

    Raises:
        ValueError: if the image is smaller.

    Example:
        >>> center_crop(flambeau.arange(16).reshape(1, 4, 4), 2)
        tensor([[[ 5,  6],
                 [ 9, 10]]])
    """
    height, width = pair("center_crop", "size", size)
    rows, columns = height_and_width("center_crop", image)
    if height > rows or width > columns:
        raise ValueError(
            f"center_crop: size {height}x{width} is larger than the image, {rows}x{columns}"
        )
    return crop(image, round((rows - height) / 2), round((columns - width) / 2), height, width)


def pad(image: Tensor, padding: int | Sequence[int], fill: float = 0) -> Tensor:
    """An image with a border.

    Args:
        image: of shape (..., H, W).
        padding: its width: one number, (left and right, top and bottom), or (left, top, right,
            bottom).
        fill: its value.

    Raises:
        ValueError: for other forms of padding, or negative numbers.

    Example:
        >>> pad(flambeau.ones(1, 1, 1), 1)
        tensor([[[0., 0., 0.],
                 [0., 1., 0.],
                 [0., 0., 0.]]])
    """
    height_and_width("pad", image)
    widths = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(widths) not in (1, 2, 4) or not all(isinstance(w, int) and w >= 0 for w in widths):
        raise ValueError(f"pad: padding must be 1, 2 or 4 ints from 0, got {brief(padding)}")
    left, top, right, bottom = widths * (4 // len(widths))
    return nn.functional.pad(image, (left, right, top, bottom), value=fill)


def hflip(image: Tensor) -> Tensor:
    """An image with left and right exchanged.

    Example:
        >>> hflip(flambeau.tensor([[[1, 2]]]))
        tensor([[[2, 1]]])
    """
    height_and_width("hflip", image)
    return image.flip(-1)


def vflip(image: Tensor) -> Tensor:
    """An image with top and bottom exchanged.

    Example:
        >>> vflip(flambeau.tensor([[[1], [2]]]))
        tensor([[[2],
                 [1]]])
    """
    height_and_width("vflip", image)
    return image.flip(-2)


def normalize(image: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """`(image - mean) / std`, channel by channel.

    Args:
        image: of a floating dtype and shape (..., channels, H, W).
        mean, std: one number per channel, or one for all.

    Raises:
        TypeError: for an image of integers: `to_tensor` comes first.
        ValueError: for other numbers of channels, or a std that is not positive.

    Example:
        >>> normalize(flambeau.tensor([[[0.5, 1.0]]]), [0.5], [0.25])
        tensor([[[0., 2.]]])
    """
    height_and_width("normalize", image)
    if not image.dtype.is_floating_point:
        raise TypeError(
            f"normalize: expected a floating dtype, got {image.dtype}; to_tensor comes first"
        )
    channels = image.shape[-3] if image.dim() > 2 else 1
    for name, values in (("mean", mean), ("std", std)):
        if len(values) not in (1, channels):
            raise ValueError(
                f"normalize: {name} has {len(values)} numbers, the image {channels} channels"
            )
    if min(std) <= 0:
        raise ValueError(f"normalize: std must be positive, got {brief(std)}")
    like: dict[str, Any] = {"dtype": image.dtype, "device": image.device}
    shift, scale = (flambeau.tensor(v, **like).reshape(-1, 1, 1) for v in (mean, std))
    return ((image - shift) / scale).reshape(image.shape)
