"""What distributions with a covariance matrix share: it, its inverse, or its Cholesky factor."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, linalg
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.utils import lazy_property


def half_log_det(factor: Tensor) -> Tensor:
    """Half of log det(L L^T) of a lower triangular L with a positive diagonal."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def solved(factor: Tensor, vectors: Tensor) -> Tensor:
    """L^-1 v of lower triangular matrices and vectors, whose batches broadcast."""
    shape = flambeau.broadcast_shapes(factor.shape[:-1], vectors.shape)
    size = vectors.shape[-1]
    if factor.dim() == 2:
        # One matrix: all vectors are columns of one system.
        columns = vectors.reshape(-1, size).T
        return linalg.solve_triangular(factor, columns, upper=False).T.reshape(shape)
    vectors = vectors.expand(shape).unsqueeze(-1)
    return linalg.solve_triangular(factor.expand(*shape, size), vectors, upper=False).squeeze(-1)


def square_norm(factor: Tensor, vectors: Tensor) -> Tensor:
    """v^T (L L^T)^-1 v."""
    return solved(factor, vectors).square().sum(-1)


def factor_of_inverse(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a positive definite matrix: with all indices turned
    around, the inverse of the precision's factor is upper triangular."""
    turned = linalg.cholesky(precision.flip((-2, -1)))
    upper = turned.flip((-2, -1)).mT
    identity = flambeau.eye(upper.shape[-1], dtype=upper.dtype, device=upper.device)
    return linalg.solve_triangular(upper, identity.expand(upper.shape), upper=False)


class Covariance(Distribution):
    """Distributions that take one of three matrices; the others follow when they are asked for."""

    def _one_matrix(
        self,
        covariance_matrix: Tensor | None,
        precision_matrix: Tensor | None,
        scale_tril: Tensor | None,
    ) -> dict[str, Tensor]:
        """The one that is given.

        Raises:
            ValueError: none or several are, or it is no square matrix.
        """
        named = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {n: v for n, v in named.items() if v is not None}
        if len(given) != 1:
            raise ValueError(
                f"{type(self).__name__}: expected one of {', '.join(named)}, "
                f"got {' and '.join(given) or 'none'}"
            )
        for name, value in given.items():
            if value.dim() < 2 or value.shape[-2] != value.shape[-1]:
                raise ValueError(
                    f"{type(self).__name__}: {name} must hold square matrices, "
                    f"got shape {tuple(value.shape)}"
                )
        return given

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        if "covariance_matrix" in self.__dict__:
            return linalg.cholesky(self.covariance_matrix)
        return factor_of_inverse(self.precision_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self.scale_tril @ self.scale_tril.mT

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return flambeau.cholesky_inverse(self.scale_tril)
