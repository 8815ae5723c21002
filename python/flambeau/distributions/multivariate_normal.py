"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._gaussian import Covariance, half_log_det, square_norm


class MultivariateNormal(Covariance):
    """The normal distribution of vectors, by its mean and one of three matrices.

    Args:
        loc: the mean, `[..., K]`.
        covariance_matrix: `[..., K, K]`, positive definite, or
        precision_matrix: its inverse, or
        scale_tril: its Cholesky factor, with which computing is fastest.
        validate_args: see `Distribution`.

    Raises:
        ValueError: not exactly one of the matrices is given, or `loc` has no dim.

    Example:
        >>> from flambeau.distributions import MultivariateNormal
        >>> distribution = MultivariateNormal(flambeau.zeros(2), flambeau.eye(2))
        >>> distribution.sample((5,)).shape
        flambeau.Size([5, 2])
        >>> distribution.log_prob(flambeau.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._one_matrix(covariance_matrix, precision_matrix, scale_tril)
        (matrix,) = given.values()
        if loc.dim() >= 1 and loc.shape[-1] == 1:
            loc = loc.expand(*loc.shape[:-1], matrix.shape[-1])
        if loc.dim() < 1 or loc.shape[-1] != matrix.shape[-1]:
            raise ValueError(
                f"MultivariateNormal: loc of shape {tuple(loc.shape)} does not fit a matrix of "
                f"shape {tuple(matrix.shape)}"
            )
        self._start(validate_args, loc=loc, **given)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.scale_tril.square().sum(-1)

    def _draw(self, shape: Size) -> Tensor:
        noise = flambeau.randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = square_norm(self.scale_tril, value - self.loc)
        normalizer = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (normalizer + distance) - half_log_det(self.scale_tril)

    def entropy(self) -> Tensor:
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + half_log_det(
            self.scale_tril
        )
