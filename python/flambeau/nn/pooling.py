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
    """The largest element of each window of (N, C, L) or (C, L); arguments as of MaxPool2d."""

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool2d(_MaxPool):
    """The largest element of each window of (N, C, H, W) or (C, H, W).

    Args:
        kernel_size: of the windows.
        stride: step between windows; None: kernel_size.
        padding: of minus infinity around the input, at most half of kernel_size.
        dilation: step between the elements of a window.
        return_indices: also return the positions of the maxima.
        ceil_mode: keep windows that reach over the border.
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool3d(_MaxPool):
    """The largest element of each window of (N, C, D, H, W) or (C, D, H, W).

    Args:
        kernel_size: of the windows.
        stride: step between windows; None: kernel_size.
        padding: of minus infinity around the input, at most half of kernel_size.
        dilation: step between the elements of a window.
        return_indices: also return the positions of the maxima.
        ceil_mode: keep windows that reach over the border.
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
    """The mean of each window of (N, C, L) or (C, L).

    Args:
        kernel_size, stride, padding: of the windows; stride None: kernel_size; padded with zeros.
        ceil_mode: keep windows that reach over the border.
        count_include_pad: whether padding counts in the mean.
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
    """The mean of each window of (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad: as of AvgPool1d.
        divisor_override: divide sums by this instead.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool3d(_AvgPoolOfImages):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W); arguments as of AvgPool2d."""

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
    """Means of (N, C, L) over output_size windows that cover the input evenly."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Means of (N, C, H, W) over a grid of output_size windows; None in it keeps a size."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """Means of (N, C, D, H, W) over a grid of output_size windows; None in it keeps a size."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMax):
    """Maxima of (N, C, L) over output_size windows that cover the input evenly."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Maxima of (N, C, H, W) over a grid of output_size windows; None in it keeps a size."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Maxima of (N, C, D, H, W) over a grid of output_size windows; None in it keeps a size."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
