"""Normalization: less the mean, divided by the deviation, times a weight, plus a bias."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def normalized(
    x: Array,
    dims: int | tuple[int, ...],
    eps: float,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """Over some dims; weight and bias broadcast."""
    variance = np.var(x, dims, keepdims=True)
    found = (x - np.mean(x, dims, keepdims=True)) / np.sqrt(variance + eps)
    found = found if weight is None else found * weight
    return np.asarray(found if bias is None else found + bias)


def batch_norm_grad(
    grad: Array, x: Array, weight: Array | None, average: Array, rstd: Array
) -> tuple[Array, Array, Array]:
    """Of the input, the weight and the bias; the statistics may be any numbers."""
    normal = (x - average) * rstd
    shift, slope = grad.mean((0, 2), keepdims=True), (grad * normal).mean((0, 2), keepdims=True)
    scale = rstd if weight is None else rstd * weight[:, None]
    return (
        scale * (grad - shift - normal * slope),
        (grad * normal).sum((0, 2)),
        grad.sum((0, 2)),
    )


def last(count: int) -> tuple[int, ...]:
    """The last dims."""
    return tuple(range(-count, 0))


def layer_norm(x: Array, count: int, weight: Array | None, bias: Array | None, eps: float) -> Array:
    """Over the last dims."""
    return normalized(x, last(count), eps, weight, bias)


def group_norm(
    x: Array, groups: int, eps: float, weight: Array | None = None, bias: Array | None = None
) -> Array:
    """Over the channels of each group, then scaled and shifted channel by channel."""
    found = normalized(np.reshape(x, (x.shape[0], groups, -1)), 2, eps).reshape(x.shape)
    each = (-1,) + (1,) * (x.ndim - 2)
    scaled = found if weight is None else found * np.reshape(weight, each)
    return np.asarray(scaled if bias is None else scaled + np.reshape(bias, each))


def rms_norm(x: Array, count: int, weight: Array | None, eps: float | None) -> Array:
    """Divided by the root of the mean square over the last dims."""
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    found = x / np.sqrt(np.mean(x**2, last(count), keepdims=True) + eps)
    return np.asarray(found if weight is None else found * weight)


def instance_norm(
    input: Array,
    running_mean: Array | None,
    running_var: Array | None,
    weight: Array | None,
    bias: Array | None,
    use_input_stats: bool,
    eps: float,
) -> Array:
    """Over the pixels of each channel of each sample, or by given statistics of the channels."""
    pixels = tuple(range(2, np.ndim(input)))
    column = (-1,) + (1,) * len(pixels)
    if use_input_stats or running_mean is None or running_var is None:
        mean, variance = np.mean(input, pixels, keepdims=True), np.var(input, pixels, keepdims=True)
    else:
        mean, variance = np.reshape(running_mean, column), np.reshape(running_var, column)
    result: Array = (input - mean) / np.sqrt(variance + eps)
    if weight is not None:
        result = result * np.reshape(weight, column)
    return result if bias is None else result + np.reshape(bias, column)
