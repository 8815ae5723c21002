"""Maps of vectors and matrices: onto simplices, triangular and positive definite matrices."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.transforms.elementwise import _Parameterless
from flambeau.distributions.transforms.transform import Transform
from flambeau.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from flambeau.nn.functional import pad, softplus


class SoftmaxTransform(_Parameterless):
    """y = softmax(x) along the last dim; the inverse is log(y). Not one to one.

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import SoftmaxTransform
        >>> transform = SoftmaxTransform()
        >>> y = transform(flambeau.tensor([0., 0.]))
        >>> y
        tensor([0.5000, 0.5000])
        >>> y.sum(-1)
        tensor(1.)
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return Size(_with_dims(self, shape, 1))

    inverse_shape = forward_shape


class StickBreakingTransform(_Parameterless):
    """K numbers to K + 1 probabilities: each takes its share, a sigmoid, of what is left of 1.

    Number k is shifted by log(K - k), so that zeros become equal probabilities.

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import StickBreakingTransform
        >>> transform = StickBreakingTransform()
        >>> y = transform(flambeau.tensor([0., 0.]))
        >>> y
        tensor([0.3333, 0.3333, 0.3333])
        >>> transform.log_abs_det_jacobian(flambeau.tensor([0., 0.]), y)
        tensor(-3.2958)
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        share = (x - _left_over(x)).sigmoid().clamp(max=1 - flambeau.finfo(x.dtype).eps)
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1.0) * pad(left, [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        first = y[..., :-1]
        left = (1 - first.cumsum(-1)).clamp(min=flambeau.finfo(y.dtype).tiny)
        return first.log() - left.log() + _left_over(first)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - _left_over(x)
        # dy_k / dx_k = left_k share_k (1 - share_k), and log share = x + log(1 - share).
        return (-x + flambeau.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        shape = _with_dims(self, shape, 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        shape = _with_dims(self, shape, 1)
        return Size((*shape[:-1], shape[-1] - 1))


def _left_over(x: Tensor) -> Tensor:
    """log of how many numbers follow each of K, of which there are K + 1 in all."""
    return flambeau.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()


class CorrCholeskyTransform(_Parameterless):
    """D (D - 1) / 2 numbers to the Cholesky factor of a D x D correlation matrix.

    z = tanh(x) are canonical partial correlations, row by row under the diagonal; element (i, j) of
    the factor is z_ij times the root of what j - 1 elements have left of the row's length 1 (D.
    Lewandowski, D. Kurowicka, H. Joe, "Generating random correlation matrices based on vines and
    extended onion method", 2009).

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import CorrCholeskyTransform
        >>> transform = CorrCholeskyTransform()
        >>> y = transform(flambeau.tensor([0.5]))
        >>> y
        tensor([[1.0000, 0.0000],
                [0.4621, 0.8868]])
        >>> transform.inv(y)
        tensor([0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = flambeau.finfo(x.dtype).eps
        z = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), diag=-1)
        left = (1 - z * z).sqrt().cumprod(-1)
        ones = flambeau.eye(z.shape[-1], dtype=z.dtype, device=z.device)
        return (z + ones) * pad(left[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        roots = pad(
            left[..., :-1].clamp(min=flambeau.finfo(y.dtype).tiny), [1, 0], value=1.0
        ).sqrt()
        z = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(roots, diag=-1)
        return z.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # dy_ij / dz_ij is the root of what was left; dz / dx = 1 - tanh(x)^2.
        left = (1 - (y * y).cumsum(-1)).clamp(min=flambeau.finfo(y.dtype).tiny)
        roots = 0.5 * tril_matrix_to_vec(left.log(), diag=-2).sum(-1)
        tanh = 2 * (0.6931471805599453 - x - softplus(-2 * x))
        return roots + tanh.sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        shape = _with_dims(self, shape, 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError(f"{self!r}: {count} numbers fill no triangle under a diagonal")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        shape = _with_dims(self, shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"{self!r}: expected square matrices, got shape {shape}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class LowerCholeskyTransform(_Parameterless):
    """Matrices to their lower triangles, with exponentials on the diagonal.

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import LowerCholeskyTransform
        >>> transform = LowerCholeskyTransform()
        >>> y = transform(flambeau.tensor([[0., 9.], [1., 0.]]))
        >>> y
        tensor([[1., 0.],
                [1., 1.]])
        >>> transform.inv(y)
        tensor([[0., 0.],
                [1., 0.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Parameterless):
    """Matrices to positive definite ones: L L^T of what `LowerCholeskyTransform` makes of them.

    Args:
        cache_size: 1: keep the last pair of x and y, so that the inverse of y is x.

    Example:
        >>> from flambeau.distributions import PositiveDefiniteTransform
        >>> transform = PositiveDefiniteTransform()
        >>> y = transform(flambeau.tensor([[0., 9.], [1., 0.]]))
        >>> y
        tensor([[1., 1.],
                [1., 2.]])
        >>> flambeau.linalg.eigvalsh(y) > 0
        tensor([True, True])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(flambeau.linalg.cholesky(y))


def _with_dims(transform: Transform, shape: Sequence[int], dims: int) -> tuple[int, ...]:
    if len(shape) < dims:
        raise ValueError(f"{transform!r}: expected at least {dims} dims, got shape {tuple(shape)}")
    return tuple(shape)
