"""Layers that only rearrange."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor
from flambeau._values import brief, elements
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
        self.unflattened_size = elements("Unflatten", unflattened_size)

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

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        count = 2 * self.rank
        self.padding = (
            (padding,) * count
            if isinstance(padding, int)
            else elements(type(self).__name__, padding)
        )
        if len(self.padding) != count:
            raise ValueError(f"{type(self).__name__}: expected {count} sizes, got {brief(padding)}")

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPadding(_Padding):
    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadding):
    """Pads the last dimension with a value.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
        value: of the new elements.
    """

    rank = 1


class ConstantPad2d(_ConstantPadding):
    """Pads the last 2 dimensions with a value.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
        value: of the new elements.
    """

    rank = 2


class ConstantPad3d(_ConstantPadding):
    """Pads the last 3 dimensions with a value.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
        value: of the new elements.
    """

    rank = 3


class ZeroPad1d(_Padding):
    """Pads the last dimension with zeros.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 1


class ZeroPad2d(_Padding):
    """Pads the last 2 dimensions with zeros.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 2


class ZeroPad3d(_Padding):
    """Pads the last 3 dimensions with zeros.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 3


class ReflectionPad1d(_Padding):
    """Mirrors the last dimension at the borders.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 1
    mode = "reflect"


class ReflectionPad2d(_Padding):
    """Mirrors the last 2 dimensions at the borders.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 2
    mode = "reflect"


class ReflectionPad3d(_Padding):
    """Mirrors the last 3 dimensions at the borders.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 3
    mode = "reflect"


class ReplicationPad1d(_Padding):
    """Repeats the border elements of the last dimension.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 1
    mode = "replicate"


class ReplicationPad2d(_Padding):
    """Repeats the border elements of the last 2 dimensions.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 2
    mode = "replicate"


class ReplicationPad3d(_Padding):
    """Repeats the border elements of the last 3 dimensions.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 3
    mode = "replicate"


class _CircularPadding(_Padding):
    """Only pixels wrap around: before them there are channels, and perhaps samples."""

    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise ValueError(
                f"{type(self).__name__}: expected {self.rank + 1} or {self.rank + 2} dimensions, "
                f"got shape {tuple(input.shape)}"
            )
        return super().forward(input)


class CircularPad1d(_CircularPadding):
    """Wraps the last dimension around.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 1


class CircularPad2d(_CircularPadding):
    """Wraps the last 2 dimensions around.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 2


class CircularPad3d(_CircularPadding):
    """Wraps the last 3 dimensions around.

    Args:
        padding: elements at all ends, or at (before, after) of the last dimension, then of the one
            before it, ...
    """

    rank = 3
