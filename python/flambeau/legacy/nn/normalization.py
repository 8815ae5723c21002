"""Normalization of batches and of neighbourhoods."""

from __future__ import annotations

from typing import Self

import flambeau
from flambeau import Tensor
from flambeau.legacy.nn.module import Module
from flambeau.nn import functional as F


class BatchNormalization(Module):
    """Features (N, features) with mean 0 and deviation 1 over the batch, then scaled and moved.

    Args:
        nOutput: how many features there are.
        eps: added to variances.
        momentum: how much of `running_mean` and `running_var`, which `evaluate()` takes, a batch
            changes.
        affine: whether a scale and a bias are learned.

    Example:
        >>> module = flambeau.legacy.nn.BatchNormalization(2)
        >>> module.forward(flambeau.randn(8, 2)).shape
        flambeau.Size([8, 2])
    """

    def __init__(
        self, nOutput: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True
    ) -> None:
        self.eps, self.momentum = eps, momentum
        self.running_mean, self.running_var = flambeau.zeros(nOutput), flambeau.ones(nOutput)
        shape = (nOutput,) if affine else None
        self._own(1, weight=shape, bias=shape)

    def reset(self, stdv: float | None = None) -> Self:
        """Draws scales uniformly from 0 to 1; biases are 0, statistics those of nothing seen."""
        for parameter, fill in zip(
            self._own_parameters()[0], (Tensor.uniform_, Tensor.zero_), strict=False
        ):
            fill(parameter)
        self.running_mean.zero_()
        self.running_var.fill_(1)
        return self

    def compute(self, input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        statistics = (self.running_mean, self.running_var)
        return F.batch_norm(input, *statistics, weight, bias, self.train, self.momentum, self.eps)


class SpatialBatchNormalization(BatchNormalization):
    """`BatchNormalization` of the channels of images (N, C, H, W).

    Example:
        >>> module = flambeau.legacy.nn.SpatialBatchNormalization(1)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 4, 4])
    """


class VolumetricBatchNormalization(BatchNormalization):
    """`BatchNormalization` of the channels of volumes (N, C, T, H, W).

    Example:
        >>> module = flambeau.legacy.nn.VolumetricBatchNormalization(1)
        >>> module.forward(flambeau.ones(1, 1, 4, 4, 4)).shape
        flambeau.Size([1, 1, 4, 4, 4])
    """


class SpatialCrossMapLRN(Module):
    """Elements divided by `(k + alpha / size · sum of squares)` to the power `beta`, the sum over
    `size` neighbouring channels.

    Example:
        >>> module = flambeau.legacy.nn.SpatialCrossMapLRN(1)
        >>> module.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 1, 4, 4])
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1

    def compute(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class _Neighbourhood(Module):
    """Weighted means over all channels around a pixel; the border is not counted.

    Args:
        nInputPlane: channels.
        kernel: the weights, (H, W), or (W,) for the product of such a vector with itself; left out,
            9 by 9 equal ones.
    """

    def __init__(self, nInputPlane: int = 1, kernel: Tensor | None = None) -> None:
        self.nInputPlane = nInputPlane
        weights = flambeau.ones(9, 9) if kernel is None else kernel
        weights = flambeau.outer(weights, weights) if weights.dim() == 1 else weights
        self.kernel = weights / (weights.sum() * nInputPlane)

    def mean(self, images: Tensor) -> Tensor:
        """Of images (N, C, H, W) or (C, H, W); the result has one channel."""
        weights = self.kernel.to(images.dtype).expand(1, self.nInputPlane, *self.kernel.shape)
        padding = tuple(size // 2 for size in self.kernel.shape)
        inside = F.conv2d(flambeau.ones_like(images), weights, padding=padding)
        return F.conv2d(images, weights, padding=padding) / inside


class SpatialSubtractiveNormalization(_Neighbourhood):
    """Images without the means around each pixel.

    Example:
        >>> module = flambeau.legacy.nn.SpatialSubtractiveNormalization()
        >>> module.forward(flambeau.ones(1, 8, 8)).shape
        flambeau.Size([1, 8, 8])
    """

    def compute(self, input: Tensor) -> Tensor:
        return input - self.mean(input)


class SpatialDivisiveNormalization(_Neighbourhood):
    """Images divided by the root mean squares around each pixel, which are at least their mean
    over the image, and by `thresval` where they do not exceed `threshold`.

    Example:
        >>> module = flambeau.legacy.nn.SpatialDivisiveNormalization()
        >>> module.forward(flambeau.ones(1, 8, 8)).shape
        flambeau.Size([1, 8, 8])
    """

    def __init__(
        self,
        nInputPlane: int = 1,
        kernel: Tensor | None = None,
        threshold: float = 1e-4,
        thresval: float | None = None,
    ) -> None:
        super().__init__(nInputPlane, kernel)
        self.threshold = threshold
        self.thresval = threshold if thresval is None else thresval

    def compute(self, input: Tensor) -> Tensor:
        deviations = self.mean(input.square()).sqrt()
        typical = deviations.mean((-2, -1), keepdim=True)
        divisors = flambeau.maximum(deviations, typical)
        return input / F.threshold(divisors, self.threshold, self.thresval)


class SpatialContrastiveNormalization(SpatialDivisiveNormalization):
    """`SpatialSubtractiveNormalization`, then `SpatialDivisiveNormalization`.

    Example:
        >>> module = flambeau.legacy.nn.SpatialContrastiveNormalization()
        >>> module.forward(flambeau.ones(1, 8, 8)).shape
        flambeau.Size([1, 8, 8])
    """

    def compute(self, input: Tensor) -> Tensor:
        return super().compute(input - self.mean(input))
