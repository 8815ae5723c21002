"""Distances and angles between vectors as modules."""

from __future__ import annotations

from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`: x1 . x2 / (|x1| |x2|).

    Args:
        dim: the dimension of the vectors' elements.
        eps: the smallest product of norms.

    Shapes: x1 and x2 (..., D, ...), broadcast; output (..., ...), without D.

    Example:
        >>> cosine = flambeau.nn.CosineSimilarity(dim=1)
        >>> cosine(flambeau.tensor([[3., 4.]]), flambeau.tensor([[4., 3.]]))
        tensor([0.9600])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps over the last dimension.

    Args:
        p: of the norm.
        eps: keeps the gradient finite where x1 is x2.
        keepdim: whether the last dimension stays, with size 1.

    Shapes: x1 and x2 (N, D) or (D), broadcast; output (N) or ().

    Example:
        >>> distance = flambeau.nn.PairwiseDistance()
        >>> distance(flambeau.tensor([[3., 4.]]), flambeau.zeros(1, 2))
        tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
