"""Normalization by neighbouring channels."""

from __future__ import annotations

from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.module import Module


class LocalResponseNorm(Module):
    """Elements divided by (k + alpha * mean of squares over neighbouring channels) ** beta
    (A. Krizhevsky et al., 2012).

    Args:
        size: number of neighbouring channels.
        alpha: factor of the mean.
        beta: exponent.
        k: what is added to the mean.

    Shapes: input and output (N, C, *).
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
