"""Memory formats of the weights of convolutions."""

from __future__ import annotations

from typing import Any, TypeVar

from flambeau.nn.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from flambeau.nn.module import Module

M = TypeVar("M", bound=Module)


def _convert(module: M, memory_format: Any, kinds: tuple[type, ...]) -> M:
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lays out the weights of every Conv2d and ConvTranspose2d in a memory format.

    Args:
        module: a convolution, or what holds some.
        memory_format: as `flambeau.channels_last`.

    Example:
        >>> from flambeau.nn.utils import convert_conv2d_weight_memory_format
        >>> layer = flambeau.nn.Conv2d(4, 8, 3)
        >>> layer = convert_conv2d_weight_memory_format(layer, flambeau.channels_last)
        >>> layer.weight.is_contiguous(memory_format=flambeau.channels_last)
        True
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lays out the weights of every Conv3d and ConvTranspose3d in a memory format.

    Args:
        module: a convolution, or what holds some.
        memory_format: as `flambeau.channels_last_3d`.

    Example:
        >>> from flambeau.nn.utils import convert_conv3d_weight_memory_format
        >>> layer = flambeau.nn.Conv3d(4, 8, 3)
        >>> layer = convert_conv3d_weight_memory_format(layer, flambeau.channels_last_3d)
        >>> layer.weight.is_contiguous(memory_format=flambeau.channels_last_3d)
        True
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
