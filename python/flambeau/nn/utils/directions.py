"""Directions and lengths of weights, for weight normalization (T. Salimans, D. Kingma, Weight
Normalization, 2016) and spectral normalization (T. Miyato et al., Spectral Normalization for
Generative Adversarial Networks, 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.conv import _ConvTranspose
from flambeau.nn.module import Module


def lengths(weight: Tensor, dim: int) -> Tensor:
    """Norms over all dimensions but `dim`, which stay with size 1; -1: one norm of everything."""
    if dim == -1:
        return flambeau.linalg.vector_norm(weight)
    others = [i for i in range(weight.dim()) if i != dim % weight.dim()]
    if not others:
        return weight.abs()
    return flambeau.linalg.vector_norm(weight, dim=others, keepdim=True)


def scaled(direction: Tensor, length: Tensor, dim: int) -> Tensor:
    """A weight of the direction, of other lengths."""
    return direction * (length / lengths(direction, dim))


def output_dim(module: Module) -> int:
    """The dimension of a layer's weight that counts its outputs."""
    return 1 if isinstance(module, _ConvTranspose) else 0


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as a matrix whose rows are along `dim`."""
    return weight.movedim(dim, 0).flatten(1)


def unit(vector: Tensor, eps: float) -> Tensor:
    """A vector divided by its norm, or by eps where that is larger."""
    return F.normalize(vector, dim=0, eps=eps)


def singular_vectors(
    matrix: Tensor, left: Tensor, right: Tensor, iterations: int, eps: float
) -> Sequence[Tensor]:
    """Goes on from approximations of the singular vectors of the largest singular value, by the
    power method. Changes them in place."""
    with flambeau.no_grad():
        for _ in range(iterations):
            left.copy_(unit(flambeau.mv(matrix, right), eps))
            right.copy_(unit(flambeau.mv(matrix.t(), left), eps))
    return left, right


def start_singular_vectors(matrix: Tensor, iterations: int, eps: float) -> tuple[Tensor, Tensor]:
    """Approximations from random vectors."""
    with flambeau.no_grad():
        rows, columns = matrix.shape
        left = unit(matrix.new_empty(rows).normal_(), eps)
        right = unit(matrix.new_empty(columns).normal_(), eps)
        singular_vectors(matrix, left, right, iterations, eps)
    return left, right


def largest_singular_value(matrix: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """left . (matrix right), through which gradients reach the matrix alone."""
    # Copies: the next step of the power method changes the vectors, which gradients still read.
    return flambeau.vdot(left.clone(), flambeau.mv(matrix, right.clone()))
