"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.module import Module
from flambeau.nn.sizes import shown, spread

Sizes = int | Sequence[int]


class _MaxPool(Module):
    """The largest element of each window.

    Args:
        kernel_size: of the windows.
        stride: step between windows; None: kernel_size.
        padding: of minus infinity around the input, at most half of kernel_size.
        dilation: step between the elements of a window.
        return_indices: also return the positions of the maxima.
        ceil_mode: keep windows that reach over the border.
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={shown(self.kernel_size)}, stride={shown(self.stride)}, "
            f"padding={shown(self.padding)}, dilation={shown(self.dilation)}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window of signals.

    Args:
        kernel_size: of the windows.
        stride: step between windows; None: kernel_size.
        padding: of minus infinity around the input, at most half of kernel_size.
        dilation: step between the elements of a window.
        return_indices: also return the positions of the maxima, counted over the signal.
        ceil_mode: keep windows that reach over the border.

    Shapes: input (N, C, L) or (C, L), output (N, C, L_out); with ceil_mode sizes are rounded up
    instead of down.

    Equations:
        L_out = floor((L + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1

    Example:
        >>> flambeau.nn.MaxPool1d(2)(flambeau.tensor([[1., 5., 2., 0.]]))
        tensor([[5., 2.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool2d(_MaxPool):
    """The largest element of each window of images.

    Args:
        kernel_size: of the windows; one for all dimensions, or one each.
        stride: step between windows; None: kernel_size.
        padding: of minus infinity around the input, at most half of kernel_size.
        dilation: step between the elements of a window.
        return_indices: also return the positions of the maxima, counted over the image.
        ceil_mode: keep windows that reach over the border.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, H_out, W_out), each size as of MaxPool1d;
    with ceil_mode sizes are rounded up instead of down.

    Example:
        >>> layer = flambeau.nn.MaxPool2d(2, return_indices=True)
        >>> values, indices = layer(flambeau.arange(16.).reshape(1, 4, 4))
        >>> values
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
        >>> indices
        tensor([[[ 5,  7],
                 [13, 15]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool3d(_MaxPool):
    """The largest element of each window of volumes.

    Args:
        kernel_size: of the windows; one for all dimensions, or one each.
        stride: step between windows; None: kernel_size.
        padding: of minus infinity around the input, at most half of kernel_size.
        dilation: step between the elements of a window.
        return_indices: also return the positions of the maxima, counted over the volume.
        ceil_mode: keep windows that reach over the border.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, D_out, H_out, W_out), each size as
    of MaxPool1d; with ceil_mode sizes are rounded up instead of down.

    Example:
        >>> flambeau.nn.MaxPool3d(3, stride=2, padding=1)(flambeau.ones(1, 2, 8, 8, 8)).shape
        flambeau.Size([1, 2, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class _AvgPool(Module):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def extra_repr(self) -> str:
        return (
            f"kernel_size={shown(self.kernel_size)}, stride={shown(self.stride)}, "
            f"padding={shown(self.padding)}"
        )


class AvgPool1d(_AvgPool):
    """The mean of each window of signals.

    Args:
        kernel_size: of the windows.
        stride: step between windows; None: kernel_size.
        padding: zeros around the input, at most half of kernel_size.
        ceil_mode: keep windows that reach over the border.
        count_include_pad: whether padding counts in the mean.

    Shapes: input (N, C, L) or (C, L), output (N, C, L_out); with ceil_mode sizes are rounded up
    instead of down.

    Equations:
        L_out = floor((L + 2 * padding - kernel_size) / stride) + 1

    Example:
        >>> flambeau.nn.AvgPool1d(2)(flambeau.tensor([[1., 5., 2., 0.]]))
        tensor([[3., 1.]])
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        stride = kernel_size if stride is None else stride
        sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        length, step, border = (spread(f"AvgPool1d: {k}", v, 1) for k, v in sizes.items())
        super().__init__(length, step, border, ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip


class _AvgPoolOfImages(_AvgPool):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override


class AvgPool2d(_AvgPoolOfImages):
    """The mean of each window of images.

    Args:
        kernel_size: of the windows; one for all dimensions, or one each.
        stride: step between windows; None: kernel_size.
        padding: zeros around the input, at most half of kernel_size.
        ceil_mode: keep windows that reach over the border.
        count_include_pad: whether padding counts in the mean.
        divisor_override: divide sums by this instead.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, H_out, W_out), each size as of AvgPool1d;
    with ceil_mode sizes are rounded up instead of down.

    Example:
        >>> flambeau.nn.AvgPool2d(2)(flambeau.arange(16.).reshape(1, 4, 4))
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool3d(_AvgPoolOfImages):
    """The mean of each window of volumes.

    Args:
        kernel_size: of the windows; one for all dimensions, or one each.
        stride: step between windows; None: kernel_size.
        padding: zeros around the input, at most half of kernel_size.
        ceil_mode: keep windows that reach over the border.
        count_include_pad: whether padding counts in the mean.
        divisor_override: divide sums by this instead.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, D_out, H_out, W_out), each size as
    of AvgPool1d; with ceil_mode sizes are rounded up instead of down.

    Example:
        >>> flambeau.nn.AvgPool3d(2)(flambeau.ones(1, 2, 8, 8, 8)).shape
        flambeau.Size([1, 2, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class _Adaptive(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={shown(self.output_size)}"


class AdaptiveAvgPool1d(_Adaptive):
    """Means of windows that cover signals evenly, so many that the result has a given size.

    Args:
        output_size: how many windows.

    Shapes: input (N, C, L) or (C, L), output (N, C, output_size).

    Equations:
        start[i] = floor(i * L / output_size)
        end[i] = ceil((i + 1) * L / output_size)

    Window i has the elements from start to end, without end.

    Example:
        >>> flambeau.nn.AdaptiveAvgPool1d(2)(flambeau.tensor([[1., 5., 2., 0., 3.]]))
        tensor([[2.6667, 1.6667]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Means of windows that cover images evenly, so many that the result has a given size.

    Args:
        output_size: how many windows along each dimension, or along all; None keeps a size.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, *output_size).

    Windows are those of the 1-d form along every dimension.

    Example:
        >>> flambeau.nn.AdaptiveAvgPool2d((2, None))(flambeau.ones(1, 2, 8, 8)).shape
        flambeau.Size([1, 2, 2, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """Means of windows that cover volumes evenly, so many that the result has a given size.

    Args:
        output_size: how many windows along each dimension, or along all; None keeps a size.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, *output_size).

    Windows are those of the 1-d form along every dimension.

    Example:
        >>> flambeau.nn.AdaptiveAvgPool3d(2)(flambeau.ones(1, 2, 8, 8, 8)).shape
        flambeau.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMax):
    """Maxima of windows that cover signals evenly, so many that the result has a given size.

    Args:
        output_size: how many windows.
        return_indices: also return the positions of the maxima.

    Shapes: input (N, C, L) or (C, L), output (N, C, output_size).

    Equations:
        start[i] = floor(i * L / output_size)
        end[i] = ceil((i + 1) * L / output_size)

    Window i has the elements from start to end, without end.

    Example:
        >>> flambeau.nn.AdaptiveMaxPool1d(2)(flambeau.tensor([[1., 5., 2., 0., 3.]]))
        tensor([[5., 3.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Maxima of windows that cover images evenly, so many that the result has a given size.

    Args:
        output_size: how many windows along each dimension, or along all; None keeps a size.
        return_indices: also return the positions of the maxima.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, *output_size).

    Windows are those of the 1-d form along every dimension.

    Example:
        >>> flambeau.nn.AdaptiveMaxPool2d((2, None))(flambeau.ones(1, 2, 8, 8)).shape
        flambeau.Size([1, 2, 2, 8])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Maxima of windows that cover volumes evenly, so many that the result has a given size.

    Args:
        output_size: how many windows along each dimension, or along all; None keeps a size.
        return_indices: also return the positions of the maxima.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, *output_size).

    Windows are those of the 1-d form along every dimension.

    Example:
        >>> flambeau.nn.AdaptiveMaxPool3d(2)(flambeau.ones(1, 2, 8, 8, 8)).shape
        flambeau.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
