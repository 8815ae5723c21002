"""Pooling over windows at drawn places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Sizes = int | Sequence[int]


def starts(samples: Array, length: int, parts: int, kernel: int) -> Array:
    """Where windows begin."""
    result = np.full((*samples.shape, parts), length - kernel)
    for place in np.ndindex(*samples.shape):
        drawn = samples[place]
        for i in range(parts - 1):
            step = samples.dtype.type((length - kernel) / (parts - 1))
            result[(*place, i)] = math.floor((i + drawn) * step) - math.floor(drawn * step)
    return result


def found(
    x: Array, kernel: Sequence[int], size: Sequence[int], samples: Array
) -> tuple[Array, Array]:
    """The largest elements and where they stand, window by window."""
    rank = len(size)
    lead, spatial = x.shape[:-rank], x.shape[-rank:]
    result = np.zeros((*lead, *size), x.dtype)
    spots = np.zeros(result.shape, np.int64)
    numbers = np.arange(np.prod(spatial)).reshape(spatial)
    drawn = samples.reshape((*lead, rank))
    for plane in np.ndindex(*lead):
        order = drawn[plane][::-1] if rank == 2 else drawn[plane]
        begins = [starts(order[d : d + 1], spatial[d], size[d], kernel[d])[0] for d in range(rank)]
        for place in itertools.product(*map(range, size)):
            window = tuple(
                slice(b[i], b[i] + k) for b, i, k in zip(begins, place, kernel, strict=True)
            )
            seen = x[plane][window].ravel()
            result[(*plane, *place)] = seen.max()
            spots[(*plane, *place)] = numbers[window].ravel()[seen.argmax()]
    return result, spots


def pooled(
    x: Array, kernel: Sizes, size: Sizes | None, ratio: Sequence[float] | None, samples: Array
) -> tuple[Array, Array]:
    """The same with the sizes that the arguments give."""
    rank = samples.shape[-1]
    kernels = [kernel] * rank if isinstance(kernel, int) else list(kernel)
    if size is None:
        assert ratio is not None
        sizes = [math.floor(n * r) for n, r in zip(x.shape[-rank:], ratio, strict=True)]
    else:
        sizes = [size] * rank if isinstance(size, int) else list(size)
    return found(x, kernels, sizes, samples)
