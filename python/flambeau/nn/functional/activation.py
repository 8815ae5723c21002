"""Activations with PyTorch's `inplace` argument, over the declared operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import _C, Tensor

__all__ = [
    "celu",
    "elu",
    "gumbel_softmax",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "tanh",
    "threshold",
]

_space = _C.nn.functional


def _operator(name: str) -> Callable[..., Any]:
    """The operator, wherever its declaration puts it."""
    found = getattr(_space, name, None) or getattr(_C, name)
    return found


_relu, _relu_ = _operator("relu"), _operator("relu_")
_relu6, _relu6_ = _operator("relu6"), _operator("relu6_")
_leaky_relu, _leaky_relu_ = _operator("leaky_relu"), _operator("leaky_relu_")
_threshold, _threshold_ = _operator("threshold"), _operator("threshold_")
_elu, _elu_ = _operator("elu"), _operator("elu_")
_celu, _celu_ = _operator("celu"), _operator("celu_")
_selu, _selu_ = _operator("selu"), _operator("selu_")
_silu, _silu_ = _operator("silu"), _operator("silu_")
_mish, _mish_ = _operator("mish"), _operator("mish_")
_hardtanh, _hardtanh_ = _operator("hardtanh"), _operator("hardtanh_")
_hardsigmoid, _hardsigmoid_ = _operator("hardsigmoid"), _operator("hardsigmoid_")
_hardswish, _hardswish_ = _operator("hardswish"), _operator("hardswish_")


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0) of each element."""
    return _relu_(input) if inplace else _relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6) of each element."""
    return _relu6_(input) if inplace else _relu6(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, else negative_slope * x."""
    function = _leaky_relu_ if inplace else _leaky_relu
    return function(input, negative_slope)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """leaky_relu with a slope drawn for each element from [lower, upper]; when not training, with
    their mean."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = flambeau.empty_like(input).uniform_(lower, upper)
    factor = flambeau.where(input >= 0, flambeau.ones_like(input), slope)
    return input.mul_(factor) if inplace else input * factor


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it exceeds the threshold, else `value`."""
    function = _threshold_ if inplace else _threshold
    return function(input, threshold, value)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    return (_elu_ if inplace else _elu)(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return (_celu_ if inplace else _celu)(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalizing ELU of Klambauer et al., 2017."""
    return _selu_(input) if inplace else _selu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return _silu_(input) if inplace else _silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))."""
    return _mish_(input) if inplace else _mish(input)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x, cut off at min_val and max_val."""
    function = _hardtanh_ if inplace else _hardtanh
    return function(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6."""
    return _hardsigmoid_(input) if inplace else _hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)."""
    return _hardswish_(input) if inplace else _hardswish(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element."""
    return _C.tanh(input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)) of each element."""
    return _C.sigmoid(input)


def _dimension(name: str, input: Tensor, dim: int | None) -> int:
    if dim is None:
        raise TypeError(f"{name}: say along which dimension, as in {name}(input, dim=-1)")
    return dim


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """exp(x) divided by its sum along a dimension.

    Args:
        input: any shape.
        dim: the dimension that sums to 1.
        dtype: convert to it first.
    """
    dim = _dimension("softmax", input, dim)
    return _C.softmax(input, dim, dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """log(softmax(x)), computed without overflow. Arguments as of `softmax`."""
    dim = _dimension("log_softmax", input, dim)
    return _C.log_softmax(input, dim, dtype=dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """softmax(-x)."""
    return softmax(-input, dim, dtype=dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A relaxed sample of one category (E. Jang et al., Categorical Reparameterization with
    Gumbel-Softmax, 2016).

    Args:
        logits: unnormalized log-probabilities, (..., categories).
        tau: temperature.
        hard: return one-hot vectors whose gradient is the relaxed sample's.
        eps: unused, kept for PyTorch's signature.
        dim: dimension of the categories.
    """
    noise = -flambeau.empty_like(logits).exponential_().log()
    relaxed = softmax((logits + noise) / tau, dim)
    if not hard:
        return relaxed
    chosen = relaxed.argmax(dim, keepdim=True)
    one_hot = flambeau.zeros_like(logits).scatter_(dim, chosen, 1.0)
    return one_hot - relaxed.detach() + relaxed
