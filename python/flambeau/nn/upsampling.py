"""Layers that resize, and blocks as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn.module import Module
from flambeau.nn.sizes import shown

Sizes = int | Sequence[int]
Scales = float | Sequence[float]


class Upsample(Module):
    """Resizes signals, images or volumes.

    Args:
        size: spatial sizes of the result; or
        scale_factor: factors of the sizes.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear" or "area".
        align_corners: whether the centres of the corner elements stay in place.
        recompute_scale_factor: whether positions follow from the sizes, not from scale_factor.

    Shapes: input (N, C, L), (N, C, H, W) or (N, C, D, H, W), output (N, C, *size); sizes are
    floor(size * scale_factor).

    Example:
        >>> flambeau.nn.Upsample(scale_factor=2)(flambeau.tensor([[[1., 2.]]]))
        tensor([[[1., 1., 2., 2.]]])
        >>> layer = flambeau.nn.Upsample(size=3, mode="linear", align_corners=True)
        >>> layer(flambeau.tensor([[[1., 2.]]]))
        tensor([[[1.0000, 1.5000, 2.0000]]])
    """

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: Scales | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor: Any = scale_factor
        if scale_factor is not None:
            single = isinstance(scale_factor, int | float)
            listed = isinstance(scale_factor, tuple | list) and len(scale_factor) < 4
            if not single and not listed:
                raise TypeError(
                    f"{type(self).__name__}: scale_factor must be a number or a tuple of up to "
                    f"three, got {brief(scale_factor)}"
                )
            factors: Any = [scale_factor] if single else scale_factor
            numbers = tuple(float(factor) for factor in factors)
            self.scale_factor = numbers[0] if single else numbers
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        known = (
            f"size={shown(self.size)}"
            if self.scale_factor is None
            else f"scale_factor={shown(self.scale_factor)}"
        )
        return f"{known}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample of images with mode "nearest".

    Args:
        size: rows and columns of the result; or
        scale_factor: factors of both.

    Shapes: input (N, C, H, W), output (N, C, *size).

    Example:
        >>> flambeau.nn.UpsamplingNearest2d(scale_factor=2)(flambeau.tensor([[[[1., 2.]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: Scales | None = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample of images with mode "bilinear" and aligned corners.

    Args:
        size: rows and columns of the result; or
        scale_factor: factors of both.

    Shapes: input (N, C, H, W), output (N, C, *size).

    Example:
        >>> flambeau.nn.UpsamplingBilinear2d(size=(1, 3))(flambeau.tensor([[[[1., 2.]]]]))
        tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: Scales | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class Unfold(Module):
    """Blocks of images as columns.

    Args:
        kernel_size: rows and columns of a block.
        dilation: step between the elements of a block.
        padding: zeros around the image.
        stride: step between blocks.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C * elements of a block, blocks).

    Example:
        >>> blocks = flambeau.nn.Unfold(kernel_size=2)(flambeau.arange(9.).reshape(1, 1, 3, 3))
        >>> blocks.shape
        flambeau.Size([1, 4, 4])
        >>> blocks[0, :, 0]  # the block at the upper left
        tensor([0., 1., 3., 4.])
    """

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={shown(self.kernel_size)}, dilation={shown(self.dilation)}, "
            f"padding={shown(self.padding)}, stride={shown(self.stride)}"
        )


class Fold(Module):
    """Adds blocks, which are columns, up to images: the adjoint of Unfold.

    Args:
        output_size: rows and columns of the images.
        kernel_size, dilation, padding, stride: as of Unfold.

    Shapes: input (N, C * elements of a block, blocks) or without N, output (N, C, *output_size).

    Example:
        >>> fold = flambeau.nn.Fold(output_size=(3, 3), kernel_size=2)
        >>> fold(flambeau.ones(1, 4, 4))  # how many blocks cover each pixel
        tensor([[[[1., 2., 1.],
                  [2., 4., 2.],
                  [1., 2., 1.]]]])
    """

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={shown(self.output_size)}, kernel_size={shown(self.kernel_size)}, "
            f"dilation={shown(self.dilation)}, padding={shown(self.padding)}, "
            f"stride={shown(self.stride)}"
        )
