"""Dropout."""

from __future__ import annotations

from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.module import Module


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{type(self).__name__}: p must be within [0, 1], got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training, zeroes elements with probability p and scales the others by 1 / (1 - p).

    Args:
        p: probability of an element to become 0.
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Source: N. Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting,
    2014.

    Example:
        >>> layer = flambeau.nn.Dropout(p=0.5)
        >>> sorted(set(layer(flambeau.ones(100)).tolist()))
        [0.0, 2.0]
        >>> layer.eval()(flambeau.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Dropout of whole channels of signals.

    Args:
        p: probability of a channel to become 0; the others are scaled by 1 / (1 - p).
        inplace: whether the input is overwritten with the result.

    Shapes: input (N, C, L) or (C, L), output alike.

    Example:
        >>> flambeau.nn.Dropout1d()(flambeau.ones(1, 4, 3))
        tensor([[[0., 0., 0.],
                 [2., 2., 2.],
                 [2., 2., 2.],
                 [2., 2., 2.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Dropout of whole channels of images.

    Args:
        p: probability of a channel to become 0; the others are scaled by 1 / (1 - p).
        inplace: whether the input is overwritten with the result.

    Shapes: input (N, C, H, W) or (C, H, W), output alike.

    Source: J. Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.

    Example:
        >>> result = flambeau.nn.Dropout2d()(flambeau.ones(1, 4, 3, 3))
        >>> result.amax((2, 3)) - result.amin((2, 3))  # a channel is there or not
        tensor([[0., 0., 0., 0.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Dropout of whole channels of volumes.

    Args:
        p: probability of a channel to become 0; the others are scaled by 1 / (1 - p).
        inplace: whether the input is overwritten with the result.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output alike.

    Example:
        >>> result = flambeau.nn.Dropout3d()(flambeau.ones(1, 4, 2, 2, 2))
        >>> sorted(set(result.flatten().tolist()))
        [0.0, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance, for SELU networks: elements get SELU's lower limit,
    then all are scaled and moved.

    Args:
        p: probability of an element to be replaced.
        inplace: whether the input is overwritten with the result.

    Shapes: input of any shape, output alike.

    Source: G. Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Example:
        >>> result = flambeau.nn.AlphaDropout(0.2)(flambeau.randn(100_000))
        >>> print(f"{result.mean().abs():.1f} {result.std():.1f}")
        0.0 1.0
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels.

    Args:
        p: probability of a channel to be replaced.
        inplace: whether the input is overwritten with the result.

    Shapes: input (N, C, ...), output alike.

    Example:
        >>> result = flambeau.nn.FeatureAlphaDropout(0.5)(flambeau.ones(1, 4, 3))
        >>> result.amax(2) - result.amin(2)
        tensor([[0., 0., 0., 0.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
