"""Parametrizations of weights: orthogonal matrices, spectral norm, weight norm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn.module import Module
from flambeau.nn.utils import directions, parametrize

__all__ = [
    "orthogonal",
    "spectral_norm",
    "weight_norm",
]

_MAPS = ("matrix_exp", "cayley", "householder")


def _weight(module: Module, name: str, function: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{function}: {type(module).__name__} has no parameter or buffer '{name}'")
    return weight


# --- orthogonal matrices ---


class _Orthogonal(Module):
    """Matrices with orthonormal columns, or rows where there are fewer of these, as a function of
    any matrices (M. Lezcano-Casado, Trivializations for Gradient-Based Optimization on Manifolds,
    2019)."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("orthogonal: the householder map is for real matrices")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        is_wide = X.size(-2) < X.size(-1)
        if is_wide:
            X = X.mT
        rotation = _reflected(X) if self.orthogonal_map == "householder" else self._rotated(X)
        if "base" in self._buffers:
            rotation = self.base @ rotation
        return rotation.mT if is_wide else rotation

    def _rotated(self, X: Tensor) -> Tensor:
        """The first columns of a rotation: a function of the skew-symmetric A = tril(X) - its
        adjoint."""
        rows, columns = X.size(-2), X.size(-1)
        X = X.tril()
        if rows != columns:
            X = flambeau.cat([X, X.new_zeros([*X.shape[:-1], rows - columns])], -1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            rotation = flambeau.linalg.matrix_exp(A)
        else:
            identity = flambeau.eye(rows, dtype=A.dtype, device=A.device)
            rotation = flambeau.linalg.solve(identity - A / 2, identity + A / 2)
        return rotation[..., :columns]

    def right_inverse(self, Q: Tensor) -> Tensor:
        """What the map makes Q of, or with a base: the matrix nearest to Q's columns."""
        if Q.shape != self.shape:
            raise ValueError(
                f"orthogonal: expected shape {tuple(self.shape)}, got {tuple(Q.shape)}"
            )
        tall = Q.mT if Q.size(-2) < Q.size(-1) else Q
        if "base" in self._buffers:
            self.base = _completed(tall)
            # tril(X) - its adjoint is 0 for any diagonal; reflections need one of +-1.
            start = flambeau.zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                f"orthogonal: the {self.orthogonal_map} map has no inverse without "
                "use_trivialization"
            )
        reflections, factors = flambeau.geqrf(tall)
        signs = reflections.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        # A factor of 0 is no reflection, where the diagonal of R is negative.
        signs.copy_(flambeau.where(factors == 0, -signs, signs))
        return reflections.mT if Q.size(-2) < Q.size(-1) else reflections


def _reflected(X: Tensor) -> Tensor:
    """The product of reflections at the columns below the diagonal, which has their signs."""
    vectors = X.tril(-1)
    factors = 2 / (1 + (vectors * vectors).sum(-2))
    signs = X.diagonal(dim1=-2, dim2=-1).detach().trunc()
    return flambeau.linalg.householder_product(vectors, factors) * signs.unsqueeze(-2)


def _completed(tall: Tensor) -> Tensor:
    """A square orthogonal matrix that begins with the columns of a matrix, made orthonormal."""
    columns = tall if _is_orthogonal(tall) else _orthonormal(tall)
    rows, count = columns.size(-2), columns.size(-1)
    if rows == count:
        return columns.clone()
    more = flambeau.randn(
        [*columns.shape[:-1], rows - count], dtype=columns.dtype, device=columns.device
    )
    for _ in range(2):  # once is not enough in floating point
        more = more - columns @ (columns.mH @ more)
    return flambeau.cat([columns, _orthonormal(more)], -1)


def _orthonormal(matrix: Tensor) -> Tensor:
    """Q of a QR decomposition whose R has a positive diagonal."""
    basis, upper = flambeau.linalg.qr(matrix)
    return basis * upper.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(matrix: Tensor) -> bool:
    identity = flambeau.eye(matrix.size(-1), dtype=matrix.dtype, device=matrix.device)
    eps = 10 * matrix.size(-2) * flambeau.finfo(matrix.dtype).eps
    return bool(((matrix.mH @ matrix - identity).abs() <= eps).all())


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Makes a matrix (or each of a batch) orthogonal, or unitary: where it is not square, the
    shorter rows or columns are orthonormal (M. Lezcano-Casado, D. Martinez-Rubio, Cheap Orthogonal
    Constraints in Neural Networks, 2019).

    Args:
        module: what has the tensor.
        name: a parameter or buffer of at least 2 dimensions.
        orthogonal_map: "matrix_exp" (exp(A) of a skew-symmetric A), "cayley" ((1 + A / 2) /
            (1 - A / 2)) or "householder" (products of reflections; of real matrices). None:
            matrix_exp of square or complex matrices, householder of others.
        use_trivialization: start from the matrix itself, made orthogonal, which becomes the buffer
            `base`. Needed by right_inverse of the first two maps.

    Returns:
        The module.

    Raises:
        ValueError: for a tensor that is no matrix, or another map.

    Example:
        >>> from flambeau.nn.utils.parametrizations import orthogonal
        >>> layer = orthogonal(flambeau.nn.Linear(3, 3))
        >>> flambeau.allclose(layer.weight @ layer.weight.T, flambeau.eye(3), atol=1e-5)
        True
    """
    weight = _weight(module, name, "orthogonal")
    if weight.dim() < 2:
        raise ValueError(
            f"orthogonal: expected at least 2 dimensions, got shape {tuple(weight.shape)}"
        )
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f"orthogonal: orthogonal_map must be one of {_MAPS}, got {brief(orthogonal_map)}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=not use_trivialization)


# --- norms ---


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return directions.scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Lengths and directions."""
        return directions.lengths(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Splits a tensor into lengths (`original0`) and directions (`original1`): w = g v / |v| (T.
    Salimans, D. Kingma, Weight Normalization, 2016). States that `nn.utils.weight_norm` made can be
    loaded.

    Args:
        module: what has the tensor.
        name: its name.
        dim: the dimension along which lengths are separate; None: one length of everything.

    Returns:
        The module.

    Raises:
        ValueError: there is no such tensor.

    Example:
        >>> from flambeau.nn.utils.parametrizations import weight_norm
        >>> layer = weight_norm(flambeau.nn.Linear(3, 2))
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    _weight(module, name, "weight_norm")
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state: Any, prefix: str, metadata: Mapping[str, Any], *_: Any) -> None:
        former = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state for key in former):
            for i, key in enumerate(former):
                state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(
                f"spectral_norm: dim {dim} is out of range for shape {tuple(weight.shape)}"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations must be positive, got {n_power_iterations}"
            )
        self.dim = dim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.dim() > 1:
            matrix = directions.as_matrix(weight.detach(), dim)
            left, right = directions.start_singular_vectors(matrix, 15, eps)
            self.register_buffer("_u", left)
            self.register_buffer("_v", right)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return directions.unit(weight, self.eps)
        matrix = directions.as_matrix(weight, self.dim)
        if self.training:
            directions.singular_vectors(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        return weight / directions.largest_singular_value(matrix, self._u, self._v)

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value, of which it is hoped that its largest singular value is 1."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divides a tensor, as a matrix, by its largest singular value (T. Miyato et al., Spectral
    Normalization for Generative Adversarial Networks, 2018). Singular vectors are found by the
    power method: 15 steps here, more in each computation in training mode.

    Args:
        module: what has the tensor.
        name: its name.
        n_power_iterations: steps in each computation.
        eps: least divisor of the vectors.
        dim: the dimension that counts outputs; None: 0, and 1 of transposed convolutions.

    Returns:
        The module.

    Raises:
        ValueError: there is no such tensor.

    Example:
        >>> from flambeau.nn.utils.parametrizations import spectral_norm
        >>> layer = spectral_norm(flambeau.nn.Linear(3, 2))
        >>> print(f"{flambeau.linalg.matrix_norm(layer.weight, 2):.2f}")
        1.00
    """
    weight = _weight(module, name, "spectral_norm")
    dim = directions.output_dim(module) if dim is None else dim
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, made)
