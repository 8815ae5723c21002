"""Layers that only rearrange."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.module import Module


class Flatten(Module):
    """Merges dimensions start_dim to end_dim into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into dimensions of the sizes `unflattened_size` (one may be -1)."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(Module):
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleaves groups of channels of (N, C, ...)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class _Padding(Module):
    mode = "constant"
    rank = 0

    def __init__(self, padding: int | Sequence[int], value: float | None = None) -> None:
        super().__init__()
        count = 2 * self.rank
        self.padding = (padding,) * count if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != count:
            raise ValueError(f"{type(self).__name__}: expected {count} sizes, got {padding!r}")
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return (
            f"{self.padding}"
            if self.value is None
            else f"padding={self.padding}, value={self.value}"
        )


def _padding(mode: str, rank: int, name: str, doc: str) -> type[_Padding]:
    return type(
        name, (_Padding,), {"mode": mode, "rank": rank, "__doc__": doc, "__module__": __name__}
    )


ConstantPad1d = _padding("constant", 1, "ConstantPad1d", "Pads the last dimension with a value.")
ConstantPad2d = _padding("constant", 2, "ConstantPad2d", "Pads the last 2 dimensions with a value.")
ConstantPad3d = _padding("constant", 3, "ConstantPad3d", "Pads the last 3 dimensions with a value.")
ZeroPad1d = _padding("constant", 1, "ZeroPad1d", "Pads the last dimension with zeros.")
ZeroPad2d = _padding("constant", 2, "ZeroPad2d", "Pads the last 2 dimensions with zeros.")
ZeroPad3d = _padding("constant", 3, "ZeroPad3d", "Pads the last 3 dimensions with zeros.")
ReflectionPad1d = _padding("reflect", 1, "ReflectionPad1d", "Mirrors the last dimension.")
ReflectionPad2d = _padding("reflect", 2, "ReflectionPad2d", "Mirrors the last 2 dimensions.")
ReflectionPad3d = _padding("reflect", 3, "ReflectionPad3d", "Mirrors the last 3 dimensions.")
ReplicationPad1d = _padding("replicate", 1, "ReplicationPad1d", "Repeats the border elements.")
ReplicationPad2d = _padding("replicate", 2, "ReplicationPad2d", "Repeats the border elements.")
ReplicationPad3d = _padding("replicate", 3, "ReplicationPad3d", "Repeats the border elements.")
CircularPad1d = _padding("circular", 1, "CircularPad1d", "Wraps the last dimension around.")
CircularPad2d = _padding("circular", 2, "CircularPad2d", "Wraps the last 2 dimensions around.")
CircularPad3d = _padding("circular", 3, "CircularPad3d", "Wraps the last 3 dimensions around.")
