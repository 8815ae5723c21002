"""Pooling of sequences (N, T, F), images (N, C, H, W) and volumes (N, C, T, H, W).

Sizes are given in the order of Lua Torch: width before height, time before both.
"""

from __future__ import annotations

from typing import Any, Self

from flambeau import Tensor
from flambeau.legacy.nn.module import Module
from flambeau.nn import functional as F


class TemporalMaxPooling(Module):
    """The largest elements of `kW` steps of time, every `dW` steps.

    Example:
        >>> module = flambeau.legacy.nn.TemporalMaxPooling(2)
        >>> module.forward(flambeau.ones(1, 4, 2)).shape
        flambeau.Size([1, 2, 2])
    """

    kW: int
    dW: int | None = None

    def compute(self, input: Tensor) -> Tensor:
        return F.max_pool1d(input.mT, self.kW, self.dW).mT


class _Pooling(Module):
    """What poolings share: how sizes that do not fit are rounded."""

    ceil_mode = False

    def ceil(self) -> Self:
        """Windows may begin where they do not fit any more."""
        self.ceil_mode = True
        return self

    def floor(self) -> Self:
        """Only windows that fit are seen, as it is at first."""
        self.ceil_mode = False
        return self


class _SpatialPooling(_Pooling):
    kW: int
    kH: int
    dW: int | None = None
    dH: int | None = None
    padW: int = 0
    padH: int = 0

    def _sizes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Kernel, steps and borders."""
        stride = (self.dH or self.kH, self.dW or self.kW)
        return (self.kH, self.kW), stride, (self.padH, self.padW)


class SpatialMaxPooling(_SpatialPooling):
    """The largest elements of windows; `indices` are their places in the plane.

    Example:
        >>> module = flambeau.legacy.nn.SpatialMaxPooling(2, 2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 2, 2])
    """

    def compute(self, input: Tensor) -> Tensor:
        kernel, stride, padding = self._sizes()
        output, self.indices = F.max_pool2d(
            input, kernel, stride, padding, ceil_mode=self.ceil_mode, return_indices=True
        )
        return output


class SpatialAveragePooling(_SpatialPooling):
    """Means of windows.

    Example:
        >>> module = flambeau.legacy.nn.SpatialAveragePooling(2, 2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 2, 2])
    """

    count_include_pad = True

    def setCountIncludePad(self) -> Self:
        """The border counts as zeros, as it does at first."""
        self.count_include_pad = True
        return self

    def setCountExcludePad(self) -> Self:
        """Means are those of the elements of the input."""
        self.count_include_pad = False
        return self

    def compute(self, input: Tensor) -> Tensor:
        sizes = self._sizes()
        return F.avg_pool2d(input, *sizes, self.ceil_mode, self.count_include_pad)


class SpatialAdaptiveMaxPooling(Module):
    """The largest elements of `h` by `w` parts of images.

    Example:
        >>> module = flambeau.legacy.nn.SpatialAdaptiveMaxPooling(2, 2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 2, 2])
    """

    w: int
    h: int

    def compute(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, (self.h, self.w))


class SpatialFractionalMaxPooling(Module):
    """The largest elements of windows whose sizes are drawn.

    Args:
        poolSizeW, poolSizeH: the size of a window.
        arg1, arg2: width and height of the output: in pixels, or, if they are below 1, as shares of
            the input's.

    Example:
        >>> module = flambeau.legacy.nn.SpatialFractionalMaxPooling(2, 2, 3, 3)
        >>> module.forward(flambeau.ones(1, 1, 8, 8)).shape
        flambeau.Size([1, 1, 3, 3])
    """

    poolSizeW: int
    poolSizeH: int
    arg1: float
    arg2: float

    def compute(self, input: Tensor) -> Tensor:
        wanted: dict[str, Any] = {"output_size": (int(self.arg2), int(self.arg1))}
        if self.arg1 < 1:
            wanted = {"output_ratio": (self.arg2, self.arg1)}
        return F.fractional_max_pool2d(input, (self.poolSizeH, self.poolSizeW), **wanted)


class SpatialLPPooling(Module):
    """The `pnorm`-norms of windows.

    Example:
        >>> module = flambeau.legacy.nn.SpatialLPPooling(1, 2., 2, 2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 2, 2])
    """

    nInputPlane: int
    pnorm: float
    kW: int
    kH: int
    dW: int | None = None
    dH: int | None = None

    def compute(self, input: Tensor) -> Tensor:
        stride = (self.dH or self.kH, self.dW or self.kW)
        return F.lp_pool2d(input, self.pnorm, (self.kH, self.kW), stride)


class _VolumetricPooling(_Pooling):
    kT: int
    kW: int
    kH: int
    dT: int | None = None
    dW: int | None = None
    dH: int | None = None

    def _sizes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Kernel and steps."""
        stride = (self.dT or self.kT, self.dH or self.kH, self.dW or self.kW)
        return (self.kT, self.kH, self.kW), stride


class VolumetricMaxPooling(_VolumetricPooling):
    """The largest elements of windows of volumes; `indices` are their places.

    Example:
        >>> module = flambeau.legacy.nn.VolumetricMaxPooling(2, 2, 2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4, 4)).shape
        flambeau.Size([1, 1, 2, 2, 2])
    """

    padT: int = 0
    padW: int = 0
    padH: int = 0

    def compute(self, input: Tensor) -> Tensor:
        padding = (self.padT, self.padH, self.padW)
        output, self.indices = F.max_pool3d(
            input, *self._sizes(), padding, ceil_mode=self.ceil_mode, return_indices=True
        )
        return output


class VolumetricAveragePooling(_VolumetricPooling):
    """Means of windows of volumes.

    Example:
        >>> module = flambeau.legacy.nn.VolumetricAveragePooling(2, 2, 2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4, 4)).shape
        flambeau.Size([1, 1, 2, 2, 2])
    """

    def compute(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._sizes(), ceil_mode=self.ceil_mode)


class _Unpooling(Module):
    """Puts elements where a pooling found the largest, zeros elsewhere."""

    poolingModule: Any  # whose last `forward` says where

    def _shape(self) -> Any:
        return self.poolingModule._recording.input.shape


class SpatialMaxUnpooling(_Unpooling):
    """Elements where a `SpatialMaxPooling` found the largest in its last input.

    Example:
        >>> from flambeau.legacy import nn
        >>> pool = nn.SpatialMaxPooling(2, 2)
        >>> nn.SpatialMaxUnpooling(pool).forward(pool.forward(flambeau.ones(1, 1, 4, 4))).shape
        flambeau.Size([1, 1, 4, 4])
    """

    def compute(self, input: Tensor) -> Tensor:
        kernel, stride, padding = self.poolingModule._sizes()
        places = self.poolingModule.indices
        return F.max_unpool2d(input, places, kernel, stride, padding, self._shape())


class VolumetricMaxUnpooling(_Unpooling):
    """Elements where a `VolumetricMaxPooling` found the largest in its last input.

    Example:
        >>> from flambeau.legacy import nn
        >>> pool = nn.VolumetricMaxPooling(2, 2, 2)
        >>> largest = pool.forward(flambeau.ones(1, 1, 4, 4, 4))
        >>> nn.VolumetricMaxUnpooling(pool).forward(largest).shape
        flambeau.Size([1, 1, 4, 4, 4])
    """

    def compute(self, input: Tensor) -> Tensor:
        pooling = self.poolingModule
        padding = (pooling.padT, pooling.padH, pooling.padW)
        kernel, stride = pooling._sizes()
        places = pooling.indices
        return F.max_unpool3d(input, places, kernel, stride, padding, self._shape())
