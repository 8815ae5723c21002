"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau._values import brief
from flambeau.distributions import constraints
from flambeau.distributions.beta import Beta
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.utils import Value


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices, whose density is proportional to
    det(matrix)^(concentration - 1): uniform for 1.

    D. Lewandowski, D. Kurowicka, H. Joe, "Generating random correlation matrices based on vines and
    extended onion method", 2009: row by row, a point of a sphere times the root of a beta variate.

    Args:
        dim: size of the matrices, at least 2.
        concentration: positive; the larger, the closer to the identity.
        validate_args: see `Distribution`.

    Raises:
        ValueError: `dim` is less than 2.

    Example:
        >>> from flambeau.distributions import LKJCholesky
        >>> distribution = LKJCholesky(3, 1.)
        >>> distribution.sample().shape
        flambeau.Size([3, 3])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(
        self, dim: int, concentration: Value = 1.0, validate_args: bool | None = None
    ) -> None:
        if not isinstance(dim, int) or dim < 2:
            raise ValueError(f"LKJCholesky: dim must be an int of at least 2, got {brief(dim)}")
        self.dim = dim
        self._start(validate_args, (dim, dim), concentration=concentration)

    def _draw(self, shape: Size) -> Tensor:
        c = self.concentration.unsqueeze(-1)
        rows = flambeau.arange(1, self.dim, dtype=c.dtype, device=c.device)
        # Row i > 0 has i elements before its diagonal; their squares sum to a beta variate.
        later = 0.5 * (self.dim - 1 - rows)
        beta = Beta(0.5 * rows, c + later, validate_args=False)
        squares = beta._draw(Size((*shape[:-2], self.dim - 1)))
        squares = flambeau.nn.functional.pad(squares, [1, 0]).unsqueeze(-1)
        direction = flambeau.randn(shape, dtype=c.dtype, device=c.device).tril(-1)
        lengths = direction.norm(dim=-1, keepdim=True)
        unit = direction / lengths.masked_fill(lengths == 0, 1)
        diagonal = (1 - squares.squeeze(-1)).clamp(min=flambeau.finfo(c.dtype).tiny).sqrt()
        return squares.sqrt() * unit + diagonal.diag_embed()

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.dim
        c = self.concentration.unsqueeze(-1)
        orders = flambeau.arange(2, n + 1, dtype=c.dtype, device=c.device)
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        density = ((2 * (c - 1) + n - orders) * diagonal.log()).sum(-1)
        alpha = self.concentration + 0.5 * (n - 1)
        powers = 0.5 * (n - 1) * math.log(math.pi)
        normalizer = powers + flambeau.special.multigammaln(alpha - 0.5, n - 1)
        return density - normalizer + (n - 1) * alpha.lgamma()
