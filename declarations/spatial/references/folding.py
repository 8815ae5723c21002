"""Blocks of images and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .convolution import Pair, pair

Array = np.ndarray[Any, Any]


def spots(
    size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair
) -> Iterator[tuple[int, int, int, int, int]]:
    """(element of a block, block, row, column, whether inside) of all blocks."""
    (h, w), (r, s), (d, e) = pair(size), pair(kernel), pair(dilation)
    (p, q), (t, u) = pair(padding), pair(stride)
    rows = (h + 2 * p - d * (r - 1) - 1) // t + 1
    columns = (w + 2 * q - e * (s - 1) - 1) // u + 1
    for i in range(rows * columns):
        for j in range(r * s):
            y = i // columns * t - p + j // s * d
            x = i % columns * u - q + j % s * e
            yield j, i, y, x, int(0 <= y < h and 0 <= x < w)


def unfold(x: Array, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Array:
    """Element by element."""
    area = pair(kernel)[0] * pair(kernel)[1]
    found = list(spots(list(x.shape[-2:]), kernel, dilation, padding, stride))
    count = max(i for _, i, *_ in found) + 1
    columns = np.zeros((*x.shape[:-2], area, count), x.dtype)
    for j, i, row, column, inside in found:
        if inside:
            columns[..., j, i] = x[..., row, column]
    return columns.reshape((*x.shape[:-3], x.shape[-3] * area, count))


def fold(x: Array, size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Array:
    """Element by element."""
    area = pair(kernel)[0] * pair(kernel)[1]
    blocks = x.reshape((*x.shape[:-2], x.shape[-2] // area, area, x.shape[-1]))
    image = np.zeros((*blocks.shape[:-2], *pair(size)), x.dtype)
    for j, i, row, column, inside in spots(size, kernel, dilation, padding, stride):
        if inside:
            image[..., row, column] += blocks[..., j, i]
    return image
