"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief, elements
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.sizes import spread

Sizes = int | Sequence[int]
_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What convolutions have in common: `rank` spatial dimensions, checked arguments, weights."""

    rank = 0
    transposed = False
    _function: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        dilation: Sizes,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        name, rank = type(self).__name__, self.rank
        if groups <= 0:
            raise ValueError(f"{name}: groups must be positive, got {groups}")
        if padding_mode not in _MODES:
            raise ValueError(
                f"{name}: padding_mode must be one of {_MODES}, got {brief(padding_mode)}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = spread(f"{name}: kernel_size", kernel_size, rank)
        self.stride = spread(f"{name}: stride", stride, rank)
        self.dilation = spread(f"{name}: dilation", dilation, rank)
        self.output_padding = spread(f"{name}: output_padding", output_padding, rank)
        self.groups = groups
        self.padding_mode = padding_mode
        self.padding: tuple[int, ...] | str
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"{name}: padding must be 'same', 'valid' or sizes, got {brief(padding)}"
                )
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError(f"{name}: padding='same' needs stride 1, got {self.stride}")
            self.padding = padding
        else:
            self.padding = spread(f"{name}: padding", padding, rank)
        # Borders of the modes that a convolution does not do itself, last dimension first.
        self._border = self._amounts()
        where = {"device": device, "dtype": dtype}
        self.weight = Parameter(flambeau.empty(self._weight_shape(), **where))
        if bias:
            self.bias = Parameter(flambeau.empty(out_channels, **where))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        for what in ("in_channels", "out_channels"):
            channels = getattr(self, what)
            if channels % self.groups:
                raise ValueError(
                    f"{type(self).__name__}: {what}={channels} does not divide by "
                    f"groups={self.groups}"
                )
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def _amounts(self) -> list[int]:
        amounts: list[int] = []
        for i in reversed(range(self.rank)):
            if self.padding == "valid":
                amounts += [0, 0]
            elif self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                amounts += [total // 2, total - total // 2]
            else:
                amounts += [int(self.padding[i])] * 2
        return amounts

    def reset_parameters(self) -> None:
        """Draws new weights, uniform in +-1 / sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan = init._fans(self.weight)[0]
            if fan:
                init.uniform_(self.bias, -1 / math.sqrt(fan), 1 / math.sqrt(fan))

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if isinstance(self.padding, str) or any(self.padding):
            text += f", padding={self.padding}"
        if any(d != 1 for d in self.dilation):
            text += f", dilation={self.dilation}"
        if any(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._border, self.padding_mode), 0
        return self._function(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Conv):
    """Slides a kernel over signals.

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size: length of the kernel.
        stride: step of the kernel.
        padding: elements added to both ends, "same" (output as long as the input) or "valid"
            (none).
        dilation: step between elements of the kernel.
        groups: channels are split into so many groups that do not mix.
        bias: whether there is one.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device, dtype: of the parameters.

    Shapes: input (N, in_channels, L) or (in_channels, L), output (N, out_channels, L_out), weight
    (out_channels, in_channels / groups, kernel_size), bias (out_channels).

    Equations:
        L_out = floor((L + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1

    Example:
        >>> layer = flambeau.nn.Conv1d(2, 4, kernel_size=3, stride=2)
        >>> layer(flambeau.ones(1, 2, 9)).shape
        flambeau.Size([1, 4, 4])
    """

    rank = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Slides a kernel over images.

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size, stride, padding, dilation: as of Conv1d; one for both dimensions, or (vertical,
            horizontal).
        groups: channels are split into so many groups that do not mix.
        bias: whether there is one.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device, dtype: of the parameters.

    Shapes: input (N, in_channels, H, W) or (in_channels, H, W), output (N, out_channels, H_out,
    W_out), weight (out_channels, in_channels / groups, *kernel_size), bias (out_channels).

    Equations:
        H_out = floor((H + 2 * padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) / stride[0]) + 1
        W_out = floor((W + 2 * padding[1] - dilation[1] * (kernel_size[1] - 1) - 1) / stride[1]) + 1

    Example:
        >>> layer = flambeau.nn.Conv2d(3, 8, kernel_size=3, padding=1)
        >>> layer(flambeau.ones(2, 3, 5, 5)).shape
        flambeau.Size([2, 8, 5, 5])
        >>> flambeau.nn.Conv2d(3, 8, 3, stride=2)(flambeau.ones(2, 3, 5, 7)).shape
        flambeau.Size([2, 8, 2, 3])
    """

    rank = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Slides a kernel over volumes.

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size, stride, padding, dilation: as of Conv1d; one for all dimensions, or (depth,
            vertical, horizontal).
        groups: channels are split into so many groups that do not mix.
        bias: whether there is one.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device, dtype: of the parameters.

    Shapes: input (N, in_channels, D, H, W) or (in_channels, D, H, W), output (N, out_channels,
    D_out, H_out, W_out), each size as of Conv1d; weight (out_channels, in_channels / groups,
    *kernel_size).

    Example:
        >>> layer = flambeau.nn.Conv3d(2, 4, kernel_size=(1, 3, 3))
        >>> layer(flambeau.ones(1, 2, 4, 5, 6)).shape
        flambeau.Size([1, 4, 4, 3, 4])
    """

    rank = 3
    _function = staticmethod(F.conv3d)


class _ConvTranspose(_ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}: padding_mode must be 'zeros', got {brief(padding_mode)}"
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What to add at one side so that the output has a wanted size: stride - 1 at most."""
        if output_size is None:
            return self.output_padding
        wanted = elements(type(self).__name__, output_size)[-self.rank :]
        result = []
        for i, (size, target) in enumerate(zip(input.shape[-self.rank :], wanted, strict=True)):
            smallest = (
                (size - 1) * self.stride[i]
                - 2 * int(self.padding[i])
                + self.dilation[i] * (self.kernel_size[i] - 1)
                + 1
            )
            if not smallest <= target < smallest + self.stride[i]:
                raise ValueError(
                    f"{type(self).__name__}: output_size {target} of dimension {i} is outside "
                    f"[{smallest}, {smallest + self.stride[i] - 1}]"
                )
            result.append(target - smallest)
        return tuple(result)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return self._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_ConvTranspose):
    """The adjoint of Conv1d in its input: signals become longer.

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size, stride, padding, dilation, groups: of the Conv1d whose adjoint it is.
        output_padding: elements added at one end of the output.
        bias: whether there is one.
        padding_mode: must be "zeros".
        device, dtype: of the parameters.

    Shapes: input (N, in_channels, L) or (in_channels, L), output (N, out_channels, L_out), weight
    (in_channels, out_channels / groups, kernel_size), bias (out_channels). An `output_size` given
    to the call chooses output_padding.

    Equations:
        L_out = (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1

    Example:
        >>> layer = flambeau.nn.ConvTranspose1d(2, 4, kernel_size=3, stride=2)
        >>> layer(flambeau.ones(1, 2, 4)).shape
        flambeau.Size([1, 4, 9])
        >>> layer(flambeau.ones(1, 2, 4), output_size=[10]).shape
        flambeau.Size([1, 4, 10])
    """

    rank = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The adjoint of Conv2d in its input: images become larger.

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size, stride, padding, dilation, groups: of the Conv2d whose adjoint it is.
        output_padding: rows and columns added at one side of the output.
        bias: whether there is one.
        padding_mode: must be "zeros".
        device, dtype: of the parameters.

    Shapes: input (N, in_channels, H, W) or (in_channels, H, W), output (N, out_channels, H_out,
    W_out), each size as of ConvTranspose1d; weight (in_channels, out_channels / groups,
    *kernel_size).

    Example:
        >>> layer = flambeau.nn.ConvTranspose2d(3, 1, kernel_size=4, stride=2, padding=1)
        >>> layer(flambeau.ones(1, 3, 8, 8)).shape
        flambeau.Size([1, 1, 16, 16])
    """

    rank = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The adjoint of Conv3d in its input: volumes become larger.

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size, stride, padding, dilation, groups: of the Conv3d whose adjoint it is.
        output_padding: elements added at one side of each dimension of the output.
        bias: whether there is one.
        padding_mode: must be "zeros".
        device, dtype: of the parameters.

    Shapes: input (N, in_channels, D, H, W) or (in_channels, D, H, W), output (N, out_channels,
    D_out, H_out, W_out), each size as of ConvTranspose1d; weight (in_channels, out_channels /
    groups, *kernel_size).

    Example:
        >>> layer = flambeau.nn.ConvTranspose3d(2, 1, kernel_size=2, stride=2)
        >>> layer(flambeau.ones(1, 2, 3, 3, 3)).shape
        flambeau.Size([1, 1, 6, 6, 6])
    """

    rank = 3
    _function = staticmethod(F.conv_transpose3d)
