"""Losses: a formula per element, and what becomes of the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def reduced(losses: Array, reduction: str, weight: Array | None = None) -> Any:
    """The losses, their mean or their sum; a weight multiplies them before."""
    losses = losses if weight is None else losses * weight
    if reduction == "batchmean":
        return losses.sum() / (len(losses) if losses.ndim else 1)
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def averaged(losses: Array, reduction: str, weight: Array | None = None) -> Any:
    """The same, but that the mean is divided by the sum of the weights."""
    if reduction == "mean" and weight is not None:
        return np.average(losses, weights=weight)
    return reduced(losses, reduction, weight)


def reduction_of(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """What the former spelling by two flags stands for."""
    if size_average is None and reduce is None:
        return reduction
    return "none" if reduce is False else "sum" if size_average is False else "mean"


def smooth_l1(x: Array, target: Array, beta: float) -> Array:
    """Squares below `beta`, distances above."""
    distance = np.abs(x - target)
    square = distance**2 / (2 * max(beta, 1e-30))
    return np.asarray(np.where(distance < beta, square, distance - beta / 2))


def huber(x: Array, target: Array, delta: float) -> Array:
    """Squares up to `delta`, distances above."""
    distance = np.abs(x - target)
    far = delta * (distance - delta / 2)
    return np.asarray(np.where(distance <= delta, distance**2 / 2, far))


def cross_entropy_of_bits(logits: Array, target: Array, pos_weight: Array | None) -> Array:
    """Of probabilities that are given by logits."""
    positive = target * np.logaddexp(0, -logits)
    positive = positive if pos_weight is None else positive * pos_weight
    return np.asarray(positive + (1 - target) * np.logaddexp(0, logits))
