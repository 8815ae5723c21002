"""Softmax and its relatives as modules."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.module import Module


class _OverDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim: Any = dim  # None is refused when it is used

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_OverDim):
    """exp(x) divided by its sum along `dim`: positive numbers whose sum is 1.

    Args:
        dim: the dimension along which results sum to 1.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Softmax(dim=1)(flambeau.tensor([[1., 2., 3.], [0., 0., 0.]]))
        tensor([[0.0900, 0.2447, 0.6652],
                [0.3333, 0.3333, 0.3333]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class Softmin(_OverDim):
    """Softmax of -x along `dim`: the smallest element has the largest share.

    Args:
        dim: the dimension along which results sum to 1.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.Softmin(dim=0)(flambeau.tensor([1., 2., 3.]))
        tensor([0.6652, 0.2447, 0.0900])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class LogSoftmax(_OverDim):
    """log(softmax(x)) along `dim`, computed without overflow: x - log(sum(exp(x))).

    Args:
        dim: the dimension along which the exponentials of results sum to 1.

    Shapes: input of any shape, output alike.

    Example:
        >>> flambeau.nn.LogSoftmax(dim=0)(flambeau.tensor([1000., 1000.]))
        tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmax2d(Module):
    """Softmax over the channels of images, at every pixel.

    Shapes: input (N, C, H, W) or (C, H, W), output alike.

    Raises:
        ValueError: if the input has neither 3 nor 4 dims.

    Example:
        >>> scores = flambeau.tensor([[[0., 1.]], [[0., 3.]]])  # two channels of two pixels
        >>> flambeau.nn.Softmax2d()(scores)
        tensor([[[0.5000, 0.1192]],
        <BLANKLINE>
                [[0.5000, 0.8808]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected 3 or 4 dims, got shape {tuple(input.shape)}")
        return F.softmax(input, -3)
