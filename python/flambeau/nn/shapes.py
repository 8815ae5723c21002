"""Layers that only rearrange."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor
from flambeau._values import brief, elements
from flambeau.nn import functional as F
from flambeau.nn.module import Module


class Flatten(Module):
    """Merges dimensions start_dim to end_dim into one.

    Args:
        start_dim, end_dim: the first and the last that are merged; by default all but the batch's.

    Shapes: input (N, d1, d2, ...), output (N, d1 * d2 * ...).

    Example:
        >>> flambeau.nn.Flatten()(flambeau.ones(2, 3, 4, 5)).shape
        flambeau.Size([2, 60])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into dimensions of the sizes `unflattened_size`.

    Args:
        dim: the dimension.
        unflattened_size: the new sizes, whose product is the old one; one may be -1.

    Shapes: input (..., d, ...), output (..., *unflattened_size, ...).

    Example:
        >>> flambeau.nn.Unflatten(1, (2, -1))(flambeau.ones(5, 6)).shape
        flambeau.Size([5, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = elements("Unflatten", unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(Module):
    """Puts channels side by side: each r * r of them become r rows and columns of a pixel.

    Args:
        upscale_factor: r.

    Shapes: input (..., C * r * r, H, W), output (..., C, H * r, W * r).

    Source: W. Shi et al., Real-Time Single Image and Video Super-Resolution, 2016.

    Example:
        >>> flambeau.nn.PixelShuffle(2)(flambeau.tensor([1., 2., 3., 4.]).reshape(4, 1, 1))
        tensor([[[1., 2.],
                 [3., 4.]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Makes channels of blocks of pixels: the inverse of PixelShuffle.

    Args:
        downscale_factor: r, rows and columns of a block.

    Shapes: input (..., C, H * r, W * r), output (..., C * r * r, H, W).

    Example:
        >>> flambeau.nn.PixelUnshuffle(2)(flambeau.ones(3, 8, 6)).shape
        flambeau.Size([12, 4, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleaves groups of channels: the first of each group, then the second of each, and so on.

    Args:
        groups: how many; divides the number of channels.

    Shapes: input (N, C, ...), output alike.

    Source: X. Zhang et al., ShuffleNet, 2017.

    Example:
        >>> flambeau.nn.ChannelShuffle(2)(flambeau.arange(4.).reshape(1, 4, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

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
        padding: elements at all ends, or (before, after); negative numbers cut off.
        value: of the new elements.

    Shapes: input (..., L), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.ConstantPad1d((2, 1), 9.)(flambeau.tensor([[1., 2., 3.]]))
        tensor([[9., 9., 1., 2., 3., 9.]])
    """

    rank = 1


class ConstantPad2d(_ConstantPadding):
    """Pads the last 2 dimensions with a value.

    Args:
        padding: elements at all ends, or (left, right, top, bottom); negative numbers cut off.
        value: of the new elements.

    Shapes: input (..., H, W), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.ConstantPad2d(1, 9.)(flambeau.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[9., 9., 9., 9.],
                 [9., 1., 2., 9.],
                 [9., 3., 4., 9.],
                 [9., 9., 9., 9.]]])
    """

    rank = 2


class ConstantPad3d(_ConstantPadding):
    """Pads the last 3 dimensions with a value.

    Args:
        padding: elements at all ends, or (left, right, top, bottom, front, back); negative numbers
            cut off.
        value: of the new elements.

    Shapes: input (..., D, H, W), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.ConstantPad3d((1, 1, 0, 0, 2, 0), 9.)(flambeau.ones(1, 2, 3, 3, 3)).shape
        flambeau.Size([1, 2, 5, 3, 5])
    """

    rank = 3


class ZeroPad1d(_Padding):
    """Pads the last dimension with zeros.

    Args:
        padding: elements at all ends, or (before, after); negative numbers cut off.

    Shapes: input (..., L), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.ZeroPad1d((2, 1))(flambeau.tensor([[1., 2., 3.]]))
        tensor([[0., 0., 1., 2., 3., 0.]])
    """

    rank = 1


class ZeroPad2d(_Padding):
    """Pads the last 2 dimensions with zeros.

    Args:
        padding: elements at all ends, or (left, right, top, bottom); negative numbers cut off.

    Shapes: input (..., H, W), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.ZeroPad2d(1)(flambeau.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[0., 0., 0., 0.],
                 [0., 1., 2., 0.],
                 [0., 3., 4., 0.],
                 [0., 0., 0., 0.]]])
    """

    rank = 2


class ZeroPad3d(_Padding):
    """Pads the last 3 dimensions with zeros.

    Args:
        padding: elements at all ends, or (left, right, top, bottom, front, back); negative numbers
            cut off.

    Shapes: input (..., D, H, W), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.ZeroPad3d((1, 1, 0, 0, 2, 0))(flambeau.ones(1, 2, 3, 3, 3)).shape
        flambeau.Size([1, 2, 5, 3, 5])
    """

    rank = 3


class ReflectionPad1d(_Padding):
    """Mirrors the last dimension at the borders, which are not repeated.

    Args:
        padding: elements at all ends, or (before, after); less than the size there; negative
            numbers cut off.

    Shapes: input (N, C, L) or (C, L), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.ReflectionPad1d((2, 1))(flambeau.tensor([[1., 2., 3.]]))
        tensor([[3., 2., 1., 2., 3., 2.]])
    """

    rank = 1
    mode = "reflect"


class ReflectionPad2d(_Padding):
    """Mirrors the last 2 dimensions at the borders, which are not repeated.

    Args:
        padding: elements at all ends, or (left, right, top, bottom); less than the size there;
            negative numbers cut off.

    Shapes: input (N, C, H, W) or (C, H, W), output alike, each of these sizes larger by what is
    added.

    Example:
        >>> flambeau.nn.ReflectionPad2d(1)(flambeau.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[4., 3., 4., 3.],
                 [2., 1., 2., 1.],
                 [4., 3., 4., 3.],
                 [2., 1., 2., 1.]]])
    """

    rank = 2
    mode = "reflect"


class ReflectionPad3d(_Padding):
    """Mirrors the last 3 dimensions at the borders, which are not repeated.

    Args:
        padding: elements at all ends, or (left, right, top, bottom, front, back); less than the
            size there; negative numbers cut off.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output alike, each of these sizes larger by what
    is added.

    Example:
        >>> flambeau.nn.ReflectionPad3d((1, 1, 0, 0, 2, 0))(flambeau.ones(1, 2, 3, 3, 3)).shape
        flambeau.Size([1, 2, 5, 3, 5])
    """

    rank = 3
    mode = "reflect"


class ReplicationPad1d(_Padding):
    """Repeats the border elements of the last dimension.

    Args:
        padding: elements at all ends, or (before, after); negative numbers cut off.

    Shapes: input (N, C, L) or (C, L), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.ReplicationPad1d((2, 1))(flambeau.tensor([[1., 2., 3.]]))
        tensor([[1., 1., 1., 2., 3., 3.]])
    """

    rank = 1
    mode = "replicate"


class ReplicationPad2d(_Padding):
    """Repeats the border elements of the last 2 dimensions.

    Args:
        padding: elements at all ends, or (left, right, top, bottom); negative numbers cut off.

    Shapes: input (N, C, H, W) or (C, H, W), output alike, each of these sizes larger by what is
    added.

    Example:
        >>> flambeau.nn.ReplicationPad2d(1)(flambeau.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[1., 1., 2., 2.],
                 [1., 1., 2., 2.],
                 [3., 3., 4., 4.],
                 [3., 3., 4., 4.]]])
    """

    rank = 2
    mode = "replicate"


class ReplicationPad3d(_Padding):
    """Repeats the border elements of the last 3 dimensions.

    Args:
        padding: elements at all ends, or (left, right, top, bottom, front, back); negative numbers
            cut off.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output alike, each of these sizes larger by what
    is added.

    Example:
        >>> flambeau.nn.ReplicationPad3d((1, 1, 0, 0, 2, 0))(flambeau.ones(1, 2, 3, 3, 3)).shape
        flambeau.Size([1, 2, 5, 3, 5])
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
        padding: elements at all ends, or (before, after); at most the size there; negative numbers
            cut off.

    Shapes: input (N, C, L) or (C, L), output alike, each of these sizes larger by what is added.

    Example:
        >>> flambeau.nn.CircularPad1d((2, 1))(flambeau.tensor([[1., 2., 3.]]))
        tensor([[2., 3., 1., 2., 3., 1.]])
    """

    rank = 1


class CircularPad2d(_CircularPadding):
    """Wraps the last 2 dimensions around.

    Args:
        padding: elements at all ends, or (left, right, top, bottom); at most the size there;
            negative numbers cut off.

    Shapes: input (N, C, H, W) or (C, H, W), output alike, each of these sizes larger by what is
    added.

    Example:
        >>> flambeau.nn.CircularPad2d(1)(flambeau.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[4., 3., 4., 3.],
                 [2., 1., 2., 1.],
                 [4., 3., 4., 3.],
                 [2., 1., 2., 1.]]])
    """

    rank = 2


class CircularPad3d(_CircularPadding):
    """Wraps the last 3 dimensions around.

    Args:
        padding: elements at all ends, or (left, right, top, bottom, front, back); at most the size
            there; negative numbers cut off.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output alike, each of these sizes larger by what
    is added.

    Example:
        >>> flambeau.nn.CircularPad3d((1, 1, 0, 0, 2, 0))(flambeau.ones(1, 2, 3, 3, 3)).shape
        flambeau.Size([1, 2, 5, 3, 5])
    """

    rank = 3
