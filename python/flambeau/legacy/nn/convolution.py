"""Convolutions of sequences (N, T, F), images (N, C, H, W) and volumes (N, C, T, H, W).

Sizes are given in the order of Lua Torch: width before height, time before both.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.legacy.nn.module import Module
from flambeau.nn import functional as F


class TemporalConvolution(Module):
    """A convolution along time: (N, T, in) to (N, (T - kW) // dW + 1, out); N may be missing.

    Example:
        >>> module = flambeau.legacy.nn.TemporalConvolution(2, 3, 2)
        >>> module.forward(flambeau.ones(1, 5, 2)).shape
        flambeau.Size([1, 4, 3])
    """

    def __init__(self, inputFrameSize: int, outputFrameSize: int, kW: int, dW: int = 1) -> None:
        self.dW = dW
        shape = (outputFrameSize, inputFrameSize, kW)
        self._own(kW * inputFrameSize, weight=shape, bias=(outputFrameSize,))

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv1d(input.mT, weight, bias, self.dW).mT


class TemporalSubSampling(Module):
    """Sums over `kW` steps of time, each feature times a weight, plus a bias.

    Example:
        >>> module = flambeau.legacy.nn.TemporalSubSampling(2, 2)
        >>> module.forward(flambeau.ones(1, 5, 2)).shape
        flambeau.Size([1, 4, 2])
    """

    def __init__(self, inputFrameSize: int, kW: int, dW: int = 1) -> None:
        self.kW, self.dW = kW, dW
        self._own(kW, weight=(inputFrameSize,), bias=(inputFrameSize,))

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return input.unfold(-2, self.kW, self.dW).sum(-1) * weight + bias


class SpatialConvolution(Module):
    """A convolution of images: (N, in, H, W), or one of them without N.

    Args:
        nInputPlane, nOutputPlane: channels.
        kW, kH: the size of the kernel.
        dW, dH: the steps.
        padW, padH: zeros at each border; `padH` is `padW` if it is left out.

    Example:
        >>> module = flambeau.legacy.nn.SpatialConvolution(1, 2, 3, 3)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 2, 2, 2])
    """

    dilation = (1, 1)

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
    ) -> None:
        self.stride = (dH, dW)
        self.padding = (padW if padH is None else padH, padW)
        shape = (nOutputPlane, nInputPlane, kH, kW)
        self._own(nInputPlane * kH * kW, weight=shape, bias=(nOutputPlane,))

    def noBias(self) -> SpatialConvolution:
        """Drops the bias."""
        self.bias = self.gradBias = None
        return self

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation)


class SpatialDilatedConvolution(SpatialConvolution):
    """`SpatialConvolution` whose kernel has `dilationW - 1` columns and `dilationH - 1` rows
    between its own.

    Example:
        >>> module = flambeau.legacy.nn.SpatialDilatedConvolution(1, 2, 2, 2, dilationW=2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 2, 2, 2])
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
        dilationW: int = 1,
        dilationH: int | None = None,
    ) -> None:
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.dilation = (dilationW if dilationH is None else dilationH, dilationW)


class SpatialFullConvolution(Module):
    """The transpose of a convolution, which makes images larger; `adjW`, `adjH` more columns and
    rows say which of the sizes that a convolution would make equal is meant.

    Example:
        >>> module = flambeau.legacy.nn.SpatialFullConvolution(1, 2, 3, 3)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 2, 6, 6])
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
        adjW: int = 0,
        adjH: int = 0,
    ) -> None:
        self.stride, self.adjustment = (dH, dW), (adjH, adjW)
        self.padding = (padW if padH is None else padH, padW)
        shape = (nInputPlane, nOutputPlane, kH, kW)
        self._own(nInputPlane * kH * kW, weight=shape, bias=(nOutputPlane,))

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv_transpose2d(input, weight, bias, self.stride, self.padding, self.adjustment)


class SpatialConvolutionLocal(Module):
    """A convolution whose kernel differs from place to place; the image must have size
    `(iH, iW)`.

    Example:
        >>> module = flambeau.legacy.nn.SpatialConvolutionLocal(1, 2, 4, 4, 3, 3)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 2, 2, 2])
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        iW: int,
        iH: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
    ) -> None:
        self.kernel, self.stride = (kH, kW), (dH, dW)
        self.padding = (padW if padH is None else padH, padW)
        self.size = (
            (iH + 2 * self.padding[0] - kH) // dH + 1,
            (iW + 2 * self.padding[1] - kW) // dW + 1,
        )
        taps = nInputPlane * kH * kW
        self._own(taps, weight=(*self.size, nOutputPlane, taps), bias=(nOutputPlane, *self.size))

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        images = input if input.dim() == 4 else input.unsqueeze(0)
        columns = F.unfold(images, self.kernel, 1, self.padding, self.stride)
        kernels = weight.flatten(0, 1)  # (places, out, taps)
        found = flambeau.einsum("ntp,pot->nop", columns, kernels)
        output = found.unflatten(-1, self.size) + bias
        return output if input.dim() == 4 else output.squeeze(0)


class SpatialConvolutionMap(Module):
    """A convolution where each output channel sees some of the input channels.

    Args:
        conMatrix: pairs (input channel, output channel), shape (connections, 2).
        kW, kH, dW, dH: sizes and steps of the kernel.

    Example:
        >>> pairs = flambeau.tensor([[0, 0], [1, 0], [1, 1]])  # output 1 sees input 1 alone
        >>> module = flambeau.legacy.nn.SpatialConvolutionMap(pairs, 3, 3)
        >>> module.weight.shape  # a kernel per connection
        flambeau.Size([3, 3, 3])
        >>> module.forward(flambeau.ones(1, 2, 5, 5)).shape
        flambeau.Size([1, 2, 3, 3])
    """

    def __init__(self, conMatrix: Tensor, kW: int, kH: int, dW: int = 1, dH: int = 1) -> None:
        self.connTable = conMatrix.long()
        self.stride = (dH, dW)
        self.nInputPlane, self.nOutputPlane = (n + 1 for n in self.connTable.amax(0).tolist())
        fan_in = max(flambeau.bincount(self.connTable[:, 1]).tolist()) * kW * kH
        shape = (len(conMatrix), kH, kW)
        self._own(fan_in, weight=shape, bias=(self.nOutputPlane,))

    def _kernels(self, weight: Tensor) -> Tensor:
        """Of all pairs of channels (out, in, kH, kW): zeros where there is no connection."""
        sources, targets = self.connTable.unbind(1)
        kernels = weight.new_zeros(self.nOutputPlane, self.nInputPlane, *weight.shape[1:])
        return kernels.index_put((targets, sources), weight)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv2d(input, self._kernels(weight), bias, self.stride)


class SpatialFullConvolutionMap(SpatialConvolutionMap):
    """The transpose of such a convolution.

    Example:
        >>> pairs = flambeau.tensor([[0, 0], [1, 0], [1, 1]])
        >>> module = flambeau.legacy.nn.SpatialFullConvolutionMap(pairs, 3, 3)
        >>> module.forward(flambeau.ones(1, 2, 3, 3)).shape
        flambeau.Size([1, 2, 5, 5])
    """

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        kernels = self._kernels(weight).transpose(0, 1)
        return F.conv_transpose2d(input, kernels, bias, self.stride)


class SpatialSubSampling(Module):
    """Sums over windows, each channel times a weight, plus a bias.

    Example:
        >>> module = flambeau.legacy.nn.SpatialSubSampling(1, 2, 2)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 3, 3])
    """

    def __init__(self, nInputPlane: int, kW: int, kH: int, dW: int = 1, dH: int = 1) -> None:
        self.kernel, self.stride = (kH, kW), (dH, dW)
        self._own(kW * kH, weight=(nInputPlane,), bias=(nInputPlane,))

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        sums = F.avg_pool2d(input, self.kernel, self.stride, divisor_override=1)
        return sums * weight[:, None, None] + bias[:, None, None]


def _three(first: int, second: int | None, third: int | None) -> tuple[int, int, int]:
    """Sizes of time, height, width; those that are left out are the first."""
    return first, first if third is None else third, first if second is None else second


class VolumetricConvolution(Module):
    """A convolution of volumes (N, in, T, H, W).

    Example:
        >>> module = flambeau.legacy.nn.VolumetricConvolution(1, 2, 3, 3, 3)
        >>> module.forward(flambeau.ones(1, 1, 4, 4, 4)).shape
        flambeau.Size([1, 2, 2, 2, 2])
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kT: int,
        kW: int,
        kH: int,
        dT: int = 1,
        dW: int = 1,
        dH: int = 1,
        padT: int = 0,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        self.stride, self.padding = (dT, dH, dW), _three(padT, padW, padH)
        shape = self._shape(nInputPlane, nOutputPlane, (kT, kH, kW))
        self._own(nInputPlane * kT * kH * kW, weight=shape, bias=(nOutputPlane,))

    def _shape(self, inputs: int, outputs: int, kernel: tuple[int, ...]) -> tuple[int, ...]:
        return (outputs, inputs, *kernel)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv3d(input, weight, bias, self.stride, self.padding)


class VolumetricFullConvolution(VolumetricConvolution):
    """The transpose of a convolution of volumes; `adjT`, `adjW`, `adjH` as in
    `SpatialFullConvolution`.

    Example:
        >>> module = flambeau.legacy.nn.VolumetricFullConvolution(1, 2, 3, 3, 3)
        >>> module.forward(flambeau.ones(1, 1, 4, 4, 4)).shape
        flambeau.Size([1, 2, 6, 6, 6])
    """

    def __init__(
        self, *sizes: int, adjT: int = 0, adjW: int = 0, adjH: int = 0, **named: Any
    ) -> None:
        self.adjustment = (adjT, adjH, adjW)
        super().__init__(*sizes, **named)

    def _shape(self, inputs: int, outputs: int, kernel: tuple[int, ...]) -> tuple[int, ...]:
        return (inputs, outputs, *kernel)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv_transpose3d(input, weight, bias, self.stride, self.padding, self.adjustment)
