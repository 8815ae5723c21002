"""Convolutions of volumes, tap by tap."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Triple = int | Sequence[int]


def last(*places: Any) -> Any:
    """An index of the last dims."""
    return (..., *places)


def triple(value: Triple) -> list[int]:
    """Three integers, or one that stands for all."""
    return [value] * 3 if isinstance(value, int) else list(value)


def layers(x: Array, size: int, stride: int, padding: int, dilation: int) -> Array:
    """What a filter meets along the depth."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (0, 0), (0, 0)])
    count = (x.shape[2] - dilation * (size - 1) - 1) // stride + 1
    starts = np.arange(count) * stride
    taps = starts[:, None] + np.arange(size) * dilation
    return np.asarray(np.transpose(x[:, :, taps], (0, 2, 1, 3, 4, 5)))


def conv3d(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Triple,
    padding: Triple,
    dilation: Triple,
    groups: int,
) -> Array:
    """A product of channels for each tap of the filters."""
    steps, around, apart = triple(stride), triple(padding), triple(dilation)
    volumes = x.reshape((1,) * (5 - x.ndim) + x.shape)
    whole = np.pad(volumes, [(0, 0), (0, 0), *((p, p) for p in around)])
    sizes = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(whole.shape[2:], weight.shape[2:], steps, apart, strict=True)
    ]
    filters = weight.reshape((groups, -1, *weight.shape[1:]))
    result = np.zeros((len(volumes), groups, filters.shape[1], *sizes), x.dtype)
    for tap in itertools.product(*map(range, weight.shape[2:])):
        seen = [
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, apart, sizes, steps, strict=True)
        ]
        met = whole[(slice(None), slice(None), *seen)]
        met = met.reshape((len(met), groups, -1, *sizes))
        result += np.einsum("gkc,ngcxyz->ngkxyz", filters[last(*tap)], met)
    result = result.reshape((*x.shape[:-4], weight.shape[0], *sizes))
    return result if bias is None else result + bias.reshape(-1, 1, 1, 1)


def conv_transpose3d(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Triple,
    padding: Triple,
    extra: Triple,
    groups: int,
    dilation: Triple,
) -> Array:
    """Each element sent to all places that a tap reaches from it."""
    steps, around, apart = triple(stride), triple(padding), triple(dilation)
    volumes = x.reshape((1,) * (5 - x.ndim) + x.shape)
    kernel, more = weight.shape[2:], triple(extra)
    total = [
        (n - 1) * s + d * (k - 1) + 1 + e
        for n, s, d, k, e in zip(volumes.shape[2:], steps, apart, kernel, more, strict=True)
    ]
    grouped = volumes.reshape((len(volumes), groups, -1, *volumes.shape[2:]))
    filters = weight.reshape((groups, -1, *weight.shape[1:]))
    whole = np.zeros((len(volumes), groups, weight.shape[1], *total), x.dtype)
    for tap in itertools.product(*map(range, kernel)):
        places = [
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, apart, volumes.shape[2:], steps, strict=True)
        ]
        sent = np.einsum("gkc,ngkxyz->ngcxyz", filters[last(*tap)], grouped)
        whole[last(*places)] += sent
    whole = whole.reshape((len(volumes), -1, *total))
    cut: Array = whole[last(*(slice(p, n - p) for p, n in zip(around, total, strict=True)))]
    result = cut.reshape((*x.shape[:-4], *cut.shape[1:]))
    return result if bias is None else result + bias.reshape(-1, 1, 1, 1)
