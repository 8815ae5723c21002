"""The multivariate normal distribution with a covariance of low rank and a diagonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import flambeau
from flambeau import Size, Tensor, linalg
from flambeau.distributions import constraints
from flambeau.distributions._gaussian import half_log_det, solved
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.utils import lazy_property


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with covariance W W^T + diag(d).

    Its inverse and determinant follow from those of the small "capacitance" matrix
    I + W^T diag(d)^-1 W (the identities of Woodbury, and of Sylvester for determinants).

    Args:
        loc: the mean, `[..., K]`.
        cov_factor: W, `[..., K, R]`.
        cov_diag: d, `[..., K]`, positive.
        validate_args: see `Distribution`.

    Raises:
        ValueError: shapes do not fit.

    Example:
        >>> from flambeau.distributions import LowRankMultivariateNormal
        >>> distribution = LowRankMultivariateNormal(
        ...     flambeau.zeros(2), flambeau.eye(2)[:, :1], flambeau.ones(2)
        ... )
        >>> distribution.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
        >>> distribution.log_prob(flambeau.zeros(2))
        tensor(-2.1845)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor
    cov_factor: Tensor
    cov_diag: Tensor

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        sizes = (loc.shape[-1:], cov_factor.shape[-2:-1], cov_diag.shape[-1:])
        if loc.dim() < 1 or sizes[0] != sizes[1] or sizes[0] != sizes[2]:
            raise ValueError(
                "LowRankMultivariateNormal: expected loc [..., K], cov_factor [..., K, R], "
                f"cov_diag [..., K], got shapes {tuple(loc.shape)}, {tuple(cov_factor.shape)}, "
                f"{tuple(cov_diag.shape)}"
            )
        self._start(validate_args, loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.cov_factor.square().sum(-1) + self.cov_diag

    @lazy_property
    def _capacitance_tril(self) -> Tensor:
        """The Cholesky factor of I + W^T diag(d)^-1 W."""
        weighted = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        inner = weighted @ self.cov_factor
        identity = flambeau.eye(inner.shape[-1], dtype=inner.dtype, device=inner.device)
        return linalg.cholesky(inner + identity)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        weighted = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        half = linalg.solve_triangular(self._capacitance_tril, weighted, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - half.mT @ half

    def _draw(self, shape: Size) -> Tensor:
        dtype, device = self.loc.dtype, self.loc.device
        low = flambeau.randn(
            (*shape[:-1], self.cov_factor.shape[-1], 1), dtype=dtype, device=device
        )
        noise = self.cov_diag.sqrt() * flambeau.randn(shape, dtype=dtype, device=device)
        return self.loc + (self.cov_factor @ low).squeeze(-1) + noise

    def _square_norm(self, vectors: Tensor) -> Tensor:
        """v^T covariance^-1 v."""
        weighted = vectors / self.cov_diag
        projected = (self.cov_factor.mT @ weighted.unsqueeze(-1)).squeeze(-1)
        inner = solved(self._capacitance_tril, projected).square().sum(-1)
        return (weighted * vectors).sum(-1) - inner

    def _log_det(self) -> Tensor:
        return 2 * half_log_det(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        normalizer = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (normalizer + self._log_det() + self._square_norm(value - self.loc))

    def entropy(self) -> Tensor:
        return 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._log_det())
