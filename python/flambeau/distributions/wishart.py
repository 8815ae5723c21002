"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions._gaussian import Covariance, half_log_det
from flambeau.distributions.exp_family import ExponentialFamily
from flambeau.distributions.gamma import standard_gamma
from flambeau.distributions.utils import Value, as_tensors

_MATRICES = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}


class Wishart(Covariance, ExponentialFamily):
    """The Wishart distribution of positive definite matrices: sums of `df` products x x^T, x normal
    with the covariance.

    Draws by Bartlett's decomposition (1933): L A A^T L^T, A lower triangular with normal numbers,
    and roots of chi-squared ones on the diagonal.

    Args:
        df: degrees of freedom, above K - 1.
        covariance_matrix: `[..., K, K]`, positive definite, or
        precision_matrix: its inverse, or
        scale_tril: its Cholesky factor.
        validate_args: see `Distribution`.

    Raises:
        ValueError: not exactly one of the matrices is given, or `df` is too small.

    Example:
        >>> from flambeau.distributions import Wishart
        >>> distribution = Wishart(
        ...     flambeau.tensor(3.), covariance_matrix=flambeau.eye(2)
        ... )
        >>> distribution.mean
        tensor([[3., 0.],
                [0., 3.]])
        >>> distribution.log_prob(flambeau.eye(2))
        tensor(-3.5310)
    """

    support = constraints.positive_definite
    has_rsample = True
    df: Tensor

    def __init__(
        self,
        df: Value,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._one_matrix(covariance_matrix, precision_matrix, scale_tril)
        (matrix,) = given.values()
        size = matrix.shape[-1]
        _, df = as_tensors(matrix, df)
        if not (df > size - 1).all():
            raise ValueError(f"Wishart: df must be above {size - 1}, the dims less 1, got {df}")
        self._size = size
        self._start(validate_args, matrix.shape[-2:], df=df, **given)

    @property
    def arg_constraints(self) -> Any:
        """Those of the matrices, and that `df` is above K - 1."""
        return {**_MATRICES, "df": constraints.greater_than(self._size - 1)}

    def _constraint(self, name: str) -> Any:
        return _MATRICES.get(name)

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """Where the density is highest, NaN where df is at most K + 1."""
        factor = self.df - self._size - 1
        return factor.masked_fill(factor <= 0, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (v.square() + products)

    def _halves(self) -> Tensor:
        """(df - i) / 2, i = 0 to K - 1, along a last dim."""
        steps = flambeau.arange(self._size, dtype=self.df.dtype, device=self.df.device)
        return 0.5 * (self.df.unsqueeze(-1) - steps)

    def _draw(self, shape: Size) -> Tensor:
        halves = self._halves().expand(shape[:-1])
        diagonal = (0.5 * (standard_gamma(halves, is_log=True) + math.log(2))).exp()
        noise = flambeau.randn(shape, dtype=self.df.dtype, device=self.df.device)
        factor = self.scale_tril @ (noise.tril(-1) + diagonal.diag_embed())
        return factor @ factor.mT

    def _log_prob(self, value: Tensor) -> Tensor:
        k, half = self._size, 0.5 * self.df
        trace = flambeau.cholesky_solve(value, self.scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        log_det = 2 * half_log_det(flambeau.linalg.cholesky(value))
        normalizer = half * k * math.log(2) + self.df * half_log_det(self.scale_tril)
        return (
            0.5 * (self.df - k - 1) * log_det
            - 0.5 * trace
            - normalizer
            - flambeau.special.multigammaln(half, k)
        )

    def entropy(self) -> Tensor:
        k, half = self._size, 0.5 * self.df
        log_det = 2 * half_log_det(self.scale_tril)
        digammas = self._halves().digamma().sum(-1)
        return (
            0.5 * (k + 1) * (log_det + k * math.log(2))
            + flambeau.special.multigammaln(half, k)
            - 0.5 * (self.df - k - 1) * digammas
            + half * k
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -0.5 * self.precision_matrix, 0.5 * (self.df - self._size - 1)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        k = x.shape[-1]
        half = y + 0.5 * (k + 1)
        log_det = flambeau.linalg.slogdet(-2 * x).logabsdet
        return half * (k * math.log(2) - log_det) + flambeau.special.multigammaln(half, k)
