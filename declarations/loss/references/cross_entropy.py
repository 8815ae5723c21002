"""Losses of classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def gathered(losses: Array, weights: Array, reduction: str) -> Any:
    """The losses, their sum, or that divided by the sum of the weights."""
    total = losses.sum() / weights.sum() if reduction == "mean" else losses.sum()
    return losses if reduction == "none" else total


def nll(x: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Any:
    """Minus the log-probability of the target's class."""
    target = np.asarray(target)
    counts = target != ignore_index
    dim = min(1, x.ndim - 1)
    weight = np.ones(x.shape[dim]) if weight is None else weight
    weights = counts * weight[target * counts]
    places = np.expand_dims(target * counts, min(1, target.ndim))
    losses = -weights * np.take_along_axis(x, places, dim).reshape(target.shape)
    return gathered(losses, weights, reduction)


def smoothing(x: Array, target: Array, ignore_index: int, reduction: str) -> Any:
    """Minus the log-probabilities of all classes."""
    counts = target != ignore_index
    return gathered(-x.sum(1) * counts, counts, reduction)


def cross_entropy(x: Array, target: Array, reduction: str, label_smoothing: float) -> Any:
    """Of logits and classes, a share of which is spread over all."""
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    own = np.take_along_axis(logs, np.expand_dims(target, 1), 1).squeeze(1)
    losses = -(1 - label_smoothing) * own - label_smoothing * logs.mean(1)
    return gathered(losses, np.ones(losses.shape), reduction)


def cross_entropy_grad(
    grad: Array,
    x: Array,
    target: Array,
    weight: Array | None,
    norms: Array,
    ignore_index: int,
    reduction: str,
) -> Array:
    """Shares of the classes, less the true ones; `norms` may be any numbers."""
    counts = target != ignore_index
    weights = counts * (np.ones(x.shape[1]) if weight is None else weight)[target * counts]
    factors = weights * grad / (weights.sum() if reduction == "mean" else 1)
    truth = np.arange(x.shape[1]) == target[:, None]
    return np.asarray((np.exp(x - norms.sum(1, keepdims=True)) - truth) * factors[:, None])
