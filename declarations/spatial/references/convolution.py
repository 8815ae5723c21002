"""Convolutions as sums over windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Pair = int | Sequence[int]


def pair(value: Pair) -> tuple[int, int]:
    """Two integers, or one that stands for both."""
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


def windows(x: Array, size: Sequence[int], stride: Pair, dilation: Pair) -> Array:
    """Views of the last two dims: [..., rows, columns, height, width]."""
    (s, t), (d, e) = pair(stride), pair(dilation)
    reach = (d * (size[0] - 1) + 1, e * (size[1] - 1) + 1)
    found = np.lib.stride_tricks.sliding_window_view(x, reach, (-2, -1))
    return np.asarray(found[..., ::s, ::t, ::d, ::e])


def windows_grad(grad: Array, size: Sequence[int], stride: Pair, dilation: Pair) -> Array:
    """Windows [..., height, width, rows, columns], each added to the image where it lies."""
    result = np.zeros(size, grad.dtype)
    (s, t), (d, e) = pair(stride), pair(dilation)
    for y, x, r, c in np.ndindex(*grad.shape[-4:]):
        result[..., y * s + r * d, x * t + c * e] += grad[..., y, x, r, c]
    return result


def padded(x: Array, padding: Pair) -> Array:
    """Zeros around the last two dims."""
    p, q = pair(padding)
    return np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p), (q, q)])


def met(
    x: Array, size: Sequence[int], stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """What filters of a size meet: [n, group, channel, row, column, height, width]."""
    seen = windows(padded(x, padding), size, stride, dilation)
    return seen.reshape((len(seen), groups, seen.shape[1] // groups, *seen.shape[2:]))


def conv2d(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Array:
    """[n, c, h, w] or [c, h, w] with [k, c / groups, r, s]."""
    images = x.reshape((1,) * (4 - x.ndim) + x.shape)
    seen = met(images, weight.shape[2:], stride, padding, dilation, groups)
    filters = weight.reshape((groups, -1, *weight.shape[1:]))
    found = np.einsum("ngcijrs,gkcrs->ngkij", seen, filters)
    found = found.reshape((*x.shape[:-3], weight.shape[0], *found.shape[-2:]))
    return np.asarray(found if bias is None else found + bias.reshape(-1, 1, 1))


def conv1d(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Array:
    """The same of signals: images of one row."""
    steps, around, apart = (1, pair(stride)[0]), (0, pair(padding)[0]), (1, pair(dilation)[0])
    images, filters = x[..., None, :], weight[..., None, :]
    return conv2d(images, filters, bias, steps, around, apart, groups)[..., 0, :]


def weight_grad(
    grad: Array,
    x: Array,
    size: Sequence[int],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Array:
    """Sums of products of gradients and of what the filter met."""
    seen = met(x, size[2:], stride, padding, dilation, groups)
    grad = grad.reshape((len(grad), groups, size[0] // groups, *grad.shape[-2:]))
    seen = seen[:, :, :, : grad.shape[-2], : grad.shape[-1]]
    return np.asarray(np.einsum("ngkij,ngcijrs->gkcrs", grad, seen)).reshape(size)
