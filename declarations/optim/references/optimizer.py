"""Steps of optimizers: what becomes of the parameter and of each buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def sgd(
    param: Array,
    grad: Array,
    buffer: Array,
    lr: float,
    momentum: float,
    dampening: float,
    decay: float,
) -> tuple[Array, ...]:
    """With momentum."""
    buffer = momentum * buffer + (1 - dampening) * (grad + decay * param)
    return param - lr * buffer, buffer


def adam(
    param: Array,
    grad: Array,
    averages: tuple[Array, ...],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    correction1: float,
    correction2: float,
) -> tuple[Array, ...]:
    """Averages: of gradients, of their squares, and perhaps the largest of the latter."""
    mean = beta1 * averages[0] + (1 - beta1) * grad
    square = beta2 * averages[1] + (1 - beta2) * grad**2
    largest = [np.maximum(known, square) for known in averages[2:]]
    scale = np.sqrt((largest[0] if largest else square) / correction2) + eps
    return param * (1 - lr * decay) - lr / correction1 * mean / scale, mean, square, *largest


def adagrad(
    param: Array, grad: Array, total: Array, lr: float, eps: float, decay: float
) -> tuple[Array, ...]:
    """Divided by the root of the sum of squares."""
    grad = grad + decay * param
    total = total + grad**2
    return param - lr * grad / (np.sqrt(total) + eps), total


def rmsprop(
    param: Array,
    grad: Array,
    square: Array,
    mean: Array,
    buffer: Array,
    lr: float,
    alpha: float,
    eps: float,
    momentum: float,
) -> tuple[Array, ...]:
    """Divided by the root of the average of squares, with momentum, not centered."""
    square = alpha * square + (1 - alpha) * grad**2
    buffer = momentum * buffer + grad / (np.sqrt(square) + eps)
    return param - lr * buffer, square, mean, buffer
