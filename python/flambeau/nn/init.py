"""Filling tensors with initial values, in place and unrecorded.

Sources: X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward neural
networks, 2010 (xavier); K. He et al., Delving Deep into Rectifiers, 2015 (kaiming); A. Saxe et al.,
Exact solutions to the nonlinear dynamics of learning, 2013 (orthogonal); J. Martens, Deep learning
via Hessian-free optimization, 2010 (sparse).
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau import Generator, Tensor, _lazy
from flambeau._values import brief

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = frozenset(
    (
        *("linear", "sigmoid", "conv1d", "conv2d", "conv3d"),
        *("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    )
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance of signals across a nonlinearity.

    Args:
        nonlinearity: "linear", "conv2d", ..., "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        param: the negative slope of "leaky_relu"; None: 0.01.

    Equations:
        gain(tanh) = 5 / 3
        gain(relu) = sqrt(2)
        gain(leaky_relu) = sqrt(2 / (1 + param**2))
        gain(selu) = 3 / 4

    Of all others it is 1.

    Example:
        >>> flambeau.nn.init.calculate_gain("leaky_relu", 0.2)
        1.3867504905630728
    """
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"calculate_gain: the slope must be a number, got {brief(slope)}")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"calculate_gain: unknown nonlinearity {brief(nonlinearity)}")


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform numbers in [a, b).

    Args:
        tensor: is filled in place and returned.
        a, b: ends of the interval.
        generator: None: the default one.

    Example:
        >>> weight = flambeau.nn.init.uniform_(flambeau.empty(1000), -1., 1.)
        >>> bool((weight.abs() <= 1).all())
        True
    """
    with flambeau.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal numbers.

    Args:
        tensor: is filled in place and returned.
        mean, std: of the distribution.
        generator: None: the default one.

    Example:
        >>> weight = flambeau.nn.init.normal_(flambeau.empty(10_000), mean=3., std=0.1)
        >>> print(f"{weight.mean():.1f} {weight.std():.1f}")
        3.0 0.1
    """
    with flambeau.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers redrawn outside [a, b], by inverting the distribution function.

    Args:
        tensor: is filled in place and returned.
        mean, std: of the distribution before it is cut.
        a, b: ends of the interval.
        generator: None: the default one.

    Example:
        >>> weight = flambeau.nn.init.trunc_normal_(flambeau.empty(1000), a=-1., b=1.)
        >>> bool((weight.abs() <= 1).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "trunc_normal_: the mean is more than 2 std outside [a, b]; the result may be inexact",
            stacklevel=2,
        )

    def below(x: float) -> float:
        return (1 + math.erf(x / math.sqrt(2))) / 2

    low, high = below((a - mean) / std), below((b - mean) / std)
    with flambeau.no_grad():
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        tensor.erfinv_().mul_(std * math.sqrt(2)).add_(mean)
        return tensor.clamp_(a, b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere.

    Args:
        tensor: is filled in place and returned.
        val: the value.

    Example:
        >>> flambeau.nn.init.constant_(flambeau.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    with flambeau.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones.

    Args:
        tensor: is filled in place and returned.

    Example:
        >>> flambeau.nn.init.ones_(flambeau.empty(2))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros.

    Args:
        tensor: is filled in place and returned.

    Example:
        >>> flambeau.nn.init.zeros_(flambeau.empty(2))
        tensor([0., 0.])
    """
    with flambeau.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """The identity, of a matrix.

    Args:
        tensor: is filled in place and returned.

    Shapes: tensor (rows, columns).

    Example:
        >>> flambeau.nn.init.eye_(flambeau.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"eye_: expected a matrix, got shape {tuple(tensor.shape)}")
    with flambeau.no_grad():
        return tensor.copy_(flambeau.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution weight that passes as many channels as it can unchanged.

    Args:
        tensor: is filled in place and returned.
        groups: of the convolution; each passes its own channels.

    Shapes: tensor (out_channels, in_channels / groups, ...) of 3 to 5 dimensions.

    Example:
        >>> weight = flambeau.nn.init.dirac_(flambeau.empty(2, 2, 3))
        >>> flambeau.nn.functional.conv1d(flambeau.ones(1, 2, 4), weight, padding=1)
        tensor([[[1., 1., 1., 1.],
                 [1., 1., 1., 1.]]])
    """
    if not 3 <= tensor.dim() <= 5:
        raise ValueError(f"dirac_: expected 3 to 5 dimensions, got shape {tuple(tensor.shape)}")
    if groups < 1:
        raise ValueError(f"dirac_: groups must be at least 1, got {groups}")
    if tensor.shape[0] % groups:
        raise ValueError(f"dirac_: {tensor.shape[0]} output channels do not divide by {groups}")
    per_group = tensor.shape[0] // groups
    center = tuple(size // 2 for size in tensor.shape[2:])
    with flambeau.no_grad():
        tensor.zero_()
        for channel in range(min(per_group, tensor.shape[1])):
            tensor[(slice(channel, None, per_group), channel, *center)] = 1
    return tensor


def _fans(tensor: Tensor) -> tuple[int, int]:
    """(inputs, outputs) that one output, one input of a weight is connected with."""
    if tensor.dim() < 2:
        raise ValueError(
            f"fan in and fan out need at least 2 dimensions, got shape {tuple(tensor.shape)}"
        )
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


_calculate_fan_in_and_fan_out = _fans


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """One of them, as the Kaiming initializations take it."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming: mode must be 'fan_in' or 'fan_out', got {brief(mode)}")
    return _fans(tensor)[mode == "fan_out"]


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform numbers that keep the variance of signals, forward and backward.

    Args:
        tensor: is filled in place and returned.
        gain: see calculate_gain.
        generator: None: the default one.

    Equations:
        bound = gain * sqrt(6 / (fan_in + fan_out))

    Shapes: tensor (fan_out, fan_in, ...), of at least 2 dimensions; the others multiply both.

    Example:
        >>> weight = flambeau.nn.init.xavier_uniform_(flambeau.empty(2, 4))
        >>> bool((weight.abs() <= 1).all())
        True
    """
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers that keep the variance of signals, forward and backward.

    Args:
        tensor: is filled in place and returned.
        gain: see calculate_gain.
        generator: None: the default one.

    Equations:
        std = gain * sqrt(2 / (fan_in + fan_out))

    Shapes: tensor (fan_out, fan_in, ...), of at least 2 dimensions; the others multiply both.

    Example:
        >>> weight = flambeau.nn.init.xavier_normal_(flambeau.empty(100, 100))
        >>> print(f"{weight.std():.2f}")
        0.10
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("initializing a tensor without elements does nothing", stacklevel=3)
    return True


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform numbers that keep the variance of signals through rectifiers.

    Args:
        tensor: is filled in place and returned.
        a: negative slope of "leaky_relu".
        mode: "fan_in" keeps the variance forward, "fan_out" backward.
        nonlinearity: see calculate_gain.
        generator: None: the default one.

    Equations:
        bound = gain * sqrt(3 / fan)

    Shapes: tensor (fan_out, fan_in, ...), of at least 2 dimensions; the others multiply both.

    Example:
        >>> weight = flambeau.nn.init.kaiming_uniform_(flambeau.empty(2, 6), nonlinearity="relu")
        >>> bool((weight.abs() <= 1).all())
        True
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers that keep the variance of signals through rectifiers.

    Args:
        tensor: is filled in place and returned.
        a: negative slope of "leaky_relu".
        mode: "fan_in" keeps the variance forward, "fan_out" backward.
        nonlinearity: see calculate_gain.
        generator: None: the default one.

    Equations:
        std = gain / sqrt(fan)

    Shapes: tensor (fan_out, fan_in, ...), of at least 2 dimensions; the others multiply both.

    Example:
        >>> weight = flambeau.nn.init.kaiming_normal_(flambeau.empty(100, 200), nonlinearity="relu")
        >>> print(f"{weight.std():.1f}")
        0.1
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """`gain` times a random matrix with orthonormal rows or columns (of the flattened weight).

    The matrix is the Q of a QR decomposition of normal numbers, signs chosen so that R has a
    positive diagonal: then it is uniformly distributed.

    Args:
        tensor: is filled in place and returned.
        gain: factor.
        generator: None: the default one.

    Shapes: tensor (rows, ...), of at least 2 dimensions; all but the first are flattened.

    Example:
        >>> weight = flambeau.nn.init.orthogonal_(flambeau.empty(2, 3))
        >>> flambeau.allclose(weight @ weight.T, flambeau.eye(2), atol=1e-6)
        True
    """
    if tensor.dim() < 2:
        raise ValueError(f"orthogonal_: expected at least 2 dimensions, got {tuple(tensor.shape)}")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with flambeau.no_grad():
        shape = (max(rows, columns), min(rows, columns))
        drawn = flambeau.empty(shape, dtype=flambeau.float64).normal_(generator=generator)
        basis = _orthonormal_columns(drawn)
        basis = basis.t() if rows < columns else basis
        return tensor.copy_((basis * gain).reshape(tensor.shape))


def _orthonormal_columns(matrix: Tensor) -> Tensor:
    """Gram-Schmidt, twice per column: once is not enough in floating point."""
    done = flambeau.empty(matrix.shape, dtype=matrix.dtype)
    for i in range(matrix.shape[1]):
        column, before = matrix[:, i], done[:, :i]
        for _ in range(2 if i else 0):
            column = column - before @ (before.t() @ column)
        done[:, i] = column / (column * column).sum().sqrt()
    return done


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal numbers, of which a fraction of each column is zero.

    Args:
        tensor: is filled in place and returned.
        sparsity: that fraction.
        std: of the others.
        generator: None: the default one.

    Shapes: tensor (rows, columns).

    Raises:
        ValueError: the tensor is no matrix, or sparsity not within [0, 1].

    Example:
        >>> weight = flambeau.nn.init.sparse_(flambeau.empty(4, 3), sparsity=0.5)
        >>> (weight == 0).sum(0)
        tensor([2, 2, 2])
    """
    if tensor.dim() != 2:
        raise ValueError(f"sparse_: expected a matrix, got shape {tuple(tensor.shape)}")
    if not 0 <= sparsity <= 1:
        raise ValueError(f"sparse_: sparsity must be within [0, 1], got {brief(sparsity)}")
    zeros = math.ceil(sparsity * tensor.shape[0])
    with flambeau.no_grad():
        tensor.normal_(0, std, generator=generator)
        order = flambeau.rand(tensor.shape, generator=generator, device=tensor.device).argsort(0)
        return tensor.scatter_(0, order[:zeros], 0)


# --- names of the first versions ---


def _former(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The name without an underscore, which warns."""
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"nn.init.{name[:-1]} is the former name of nn.init.{name}", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name[:-1]
    call.__doc__ = f"The former name of `{name}`. Arguments are those of the new one."
    return call


uniform = _former(uniform_)
normal = _former(normal_)
constant = _former(constant_)
eye = _former(eye_)
dirac = _former(dirac_)
xavier_uniform = _former(xavier_uniform_)
xavier_normal = _former(xavier_normal_)
kaiming_uniform = _former(kaiming_uniform_)
kaiming_normal = _former(kaiming_normal_)
orthogonal = _former(orthogonal_)
sparse = _former(sparse_)

if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)
