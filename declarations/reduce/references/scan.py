"""Running products, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def product(x: Array, start: int, end: int, dim: int) -> Array:
    """Of the elements from `start` to below `end`."""
    return np.asarray(np.prod(np.take(x, range(start, end), dim), axis=dim))


def cumprod_grad(grad: Array, x: Array, dim: int) -> Array:
    """Each product that an element is in, without it."""

    def others(i: int, j: int) -> Array:
        factors = np.delete(np.take(x, range(i + 1), dim), j, dim)
        return np.asarray(np.take(grad, i, dim) * np.prod(factors, axis=dim))

    count = x.shape[dim]
    return np.stack([sum(others(i, j) for i in range(j, count)) for j in range(count)], dim)


def linear_recurrence(factor: Array, addend: Array, dim: int) -> Array:
    """y[i] = factor[i] y[i - 1] + addend[i]."""

    def term(i: int, j: int) -> Array:
        return np.asarray(np.take(addend, j, dim) * product(factor, j + 1, i + 1, dim))

    rows = [sum(term(i, j) for j in range(i + 1)) for i in range(factor.shape[dim])]
    return np.stack(rows, dim)


def extreme(x: Array, dim: int, keepdim: bool, largest: bool) -> tuple[Array, Array]:
    """The extreme elements and where they stand."""
    ordered = x if largest else -x
    places = np.argmax(ordered, dim)
    values = np.max(x, dim, keepdims=keepdim) if largest else np.min(x, dim, keepdims=keepdim)
    return np.asarray(values), np.expand_dims(places, dim) if keepdim else places
