"""Undoing pooling, pooling by powers, pooling over windows drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor
from flambeau._values import brief, elements
from flambeau.nn import functional as F
from flambeau.nn.module import Module
from flambeau.nn.sizes import shown, spread

Sizes = int | Sequence[int]
Ratios = float | Sequence[float]


class _MaxUnpool(Module):
    """What MaxUnpool layers have in common: the windows that were pooled."""

    rank = 0

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = spread(f"{name}: kernel_size", kernel_size, self.rank)
        steps = self.kernel_size if stride is None else stride
        self.stride = spread(f"{name}: stride", steps, self.rank)
        self.padding = spread(f"{name}: padding", padding, self.rank)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Puts what MaxPool1d found back where it stood, among zeros.

    Args:
        kernel_size, stride, padding: as of the MaxPool1d that gave the indices.

    Shapes: input and indices (N, C, L) or (C, L), output (N, C, L_out), unless `output_size`, given
    to the call, says otherwise.

    Equations:
        L_out = (L - 1) * stride - 2 * padding + kernel_size

    Example:
        >>> pool = flambeau.nn.MaxPool1d(2, return_indices=True)
        >>> values, indices = pool(flambeau.tensor([[1., 5., 2., 0.]]))
        >>> flambeau.nn.MaxUnpool1d(2)(values, indices)
        tensor([[0., 5., 2., 0.]])
    """

    rank = 1

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool1d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool2d(_MaxUnpool):
    """Puts what MaxPool2d found back where it stood, among zeros.

    Args:
        kernel_size, stride, padding: as of the MaxPool2d that gave the indices.

    Shapes: input and indices (N, C, H, W) or (C, H, W), output (N, C, H_out, W_out), unless
    `output_size`, given to the call, says otherwise; each size as of MaxUnpool1d.

    Example:
        >>> pool = flambeau.nn.MaxPool2d(2, return_indices=True)
        >>> values, indices = pool(flambeau.ones(1, 2, 8, 8))
        >>> flambeau.nn.MaxUnpool2d(2)(values, indices).shape
        flambeau.Size([1, 2, 8, 8])
    """

    rank = 2

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool2d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool3d(_MaxUnpool):
    """Puts what MaxPool3d found back where it stood, among zeros.

    Args:
        kernel_size, stride, padding: as of the MaxPool3d that gave the indices.

    Shapes: input and indices (N, C, D, H, W) or (C, D, H, W), output (N, C, D_out, H_out, W_out),
    unless `output_size`, given to the call, says otherwise; each size as of MaxUnpool1d.

    Example:
        >>> pool = flambeau.nn.MaxPool3d(2, return_indices=True)
        >>> values, indices = pool(flambeau.ones(1, 2, 8, 8, 8))
        >>> flambeau.nn.MaxUnpool3d(2)(values, indices).shape
        flambeau.Size([1, 2, 8, 8, 8])
    """

    rank = 3

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool3d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class LPPool1d(Module):
    """The p-norm of each window of signals.

    Args:
        norm_type: p.
        kernel_size: of the windows.
        stride: step between windows; None: kernel_size.
        ceil_mode: keep windows that reach over the border.

    Shapes: input (N, C, L) or (C, L), output (N, C, L_out), sizes as of AvgPool1d without padding.

    Equations:
        y = (sum(x**p)) ** (1 / p)

    Example:
        >>> flambeau.nn.LPPool1d(2, kernel_size=2)(flambeau.tensor([[[3., 4., 0., 1.]]]))
        tensor([[[5., 1.]]])
    """

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={shown(self.kernel_size)}, "
            f"stride={shown(self.stride)}, ceil_mode={self.ceil_mode}"
        )


class LPPool2d(LPPool1d):
    """The p-norm of each window of images.

    Args:
        norm_type: p.
        kernel_size: of the windows; one for all dimensions, or one each.
        stride: step between windows; None: kernel_size.
        ceil_mode: keep windows that reach over the border.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, H_out, W_out), sizes as of AvgPool1d
    without padding.

    Equations:
        y = (sum(x**p)) ** (1 / p)

    Example:
        >>> flambeau.nn.LPPool2d(2, kernel_size=2)(flambeau.ones(1, 2, 8, 8)).shape
        flambeau.Size([1, 2, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool3d(LPPool1d):
    """The p-norm of each window of volumes.

    Args:
        norm_type: p.
        kernel_size: of the windows; one for all dimensions, or one each.
        stride: step between windows; None: kernel_size.
        ceil_mode: keep windows that reach over the border.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, D_out, H_out, W_out), sizes as of
    AvgPool1d without padding.

    Equations:
        y = (sum(x**p)) ** (1 / p)

    Example:
        >>> flambeau.nn.LPPool3d(2, kernel_size=2)(flambeau.ones(1, 2, 8, 8, 8)).shape
        flambeau.Size([1, 2, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class _FractionalMaxPool(Module):
    """What both have in common: one of two ways to say how large the result is."""

    rank = 0

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Ratios | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = spread(f"{name}: kernel_size", kernel_size, self.rank)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name}: give one of output_size and output_ratio")
        self.output_size = (
            None if output_size is None else spread(f"{name}: output_size", output_size, self.rank)
        )
        self.output_ratio: tuple[float, ...] | None = None
        if output_ratio is not None:
            single = isinstance(output_ratio, int | float)
            ratios: Any = [output_ratio] * self.rank if single else output_ratio
            given = elements(name, ratios)
            self.output_ratio = tuple(float(ratio) for ratio in given)
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(
                    f"{name}: output_ratio must be between 0 and 1, got {brief(output_ratio)}"
                )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of windows at places drawn at random (B. Graham, Fractional
    Max-Pooling, 2014).

    Args:
        kernel_size: rows and columns of a window.
        output_size: rows and columns of the result; or
        output_ratio: what they are to those of the input, between 0 and 1.
        return_indices: also return the positions of the maxima.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, *output_size).

    Example:
        >>> layer = flambeau.nn.FractionalMaxPool2d(2, output_ratio=0.7)
        >>> layer(flambeau.ones(1, 2, 10, 10)).shape
        flambeau.Size([1, 2, 7, 7])
    """

    rank = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest elements of windows of volumes at places drawn at random.

    Args:
        kernel_size: of the windows; one for all dimensions, or one each.
        output_size: sizes of the result; or
        output_ratio: what they are to those of the input, between 0 and 1.
        return_indices: also return the positions of the maxima.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, *output_size).

    Source: B. Graham, Fractional Max-Pooling, 2014.

    Example:
        >>> layer = flambeau.nn.FractionalMaxPool3d(2, output_size=(4, 5, 6))
        >>> layer(flambeau.ones(1, 2, 10, 10, 10)).shape
        flambeau.Size([1, 2, 4, 5, 6])
    """

    rank = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip
