"""Normalization by neighbouring channels."""

from __future__ import annotations

from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.module import Module


class _ResponseNorm(Module):
    """What both take, and how they show it."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """Elements divided by a power of the mean of squares over neighbouring channels.

    Args:
        size: number of neighbouring channels.
        alpha: factor of the mean.
        beta: exponent.
        k: what is added to the mean.

    Shapes: input and output (N, C, ...).

    Equations:
        y = x / (k + alpha * E(x**2)) ** beta

    Source: A. Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks,
    2012.

    Example:
        >>> layer = flambeau.nn.LocalResponseNorm(size=1, alpha=1., beta=0.5)
        >>> layer(flambeau.tensor([[[1.], [2.]]]))
        tensor([[[0.7071],
                 [0.8944]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_ResponseNorm):
    """`LocalResponseNorm` of images, over windows that have a middle.

    Of an even `size`, one channel fewer is summed, and the sum is divided by `size` all the same.

    PyTorch's keeps the first channel in all windows, and has other gradients than its values'.

    Args:
        size: number of neighbouring channels.
        alpha: factor of the sum of squares divided by `size`.
        beta: exponent.
        k: what is added.

    Shapes: input and output (N, C, H, W).

    Raises:
        ValueError: the input has other than 4 dims.

    Source: A. Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks,
    2012.

    Example:
        >>> layer = flambeau.nn.CrossMapLRN2d(size=2, alpha=2., beta=1.)
        >>> layer(flambeau.tensor([[[[1.]], [[3.]]]])).flatten()
        tensor([0.5000, 0.3000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            shape = tuple(input.shape)
            raise ValueError(f"CrossMapLRN2d: input must have 4 dims, (N, C, H, W), got {shape}")
        width = self.size - (self.size + 1) % 2
        alpha = self.alpha * width / self.size
        return F.local_response_norm(input, width, alpha, self.beta, self.k)
