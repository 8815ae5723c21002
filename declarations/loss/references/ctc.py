"""Connectionist temporal classification, by listing every alignment."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _alignments(
    shape: Sequence[int], targets: Array, steps: Array, sizes: Array, blank: int
) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
    """Each sample, and the classes step by step that give its labels: repetitions merged, then
    blanks dropped."""
    begins = np.cumsum(sizes) - sizes
    for n in range(shape[1]):
        first = int(begins[n])
        row = targets[n] if np.ndim(targets) == 2 else targets[first:]
        labels = tuple(int(label) for label in row[: int(sizes[n])])
        paths = itertools.product(range(shape[2]), repeat=int(steps[n]))
        yield n, [path for path in paths if _collapsed(path, blank) == labels]


def _collapsed(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def _weights(log_probs: Array, n: int, paths: list[tuple[int, ...]]) -> Array:
    """Probabilities of alignments."""
    scores = [sum(log_probs[t, n, c] for t, c in enumerate(path)) for path in paths]
    return np.exp(np.asarray(scores, np.float64))


def losses(log_probs: Array, targets: Array, steps: Array, sizes: Array, blank: int) -> Array:
    """Infinite where there is no alignment."""
    found = np.empty(log_probs.shape[1])
    for n, paths in _alignments(log_probs.shape, targets, steps, sizes, blank):
        with np.errstate(divide="ignore"):
            found[n] = -np.log(np.sum(_weights(log_probs, n, paths)))
    return found


def _counts(shape: Sequence[int], steps: Array) -> Array:
    """Whether a step is one of the sample."""
    found: Array = np.arange(shape[0])[:, None, None] < steps[:, None]
    return found


def gradients(
    grad: Array,
    log_probs: Array,
    targets: Array,
    steps: Array,
    sizes: Array,
    blank: int,
    of_logits: bool,
) -> Array:
    """Minus the probabilities of classes, given the labels; where logits are meant, also those that
    nothing is given to."""
    own = grad[:, None] * np.exp(log_probs) * of_logits
    found: Array = own * _counts(log_probs.shape, steps)
    for n, paths in _alignments(log_probs.shape, targets, steps, sizes, blank):
        weights = _weights(log_probs, n, paths)
        _take(found[:, n], paths, grad[n] * weights / weights.sum())
    return found


def curvature(
    grad: Array,
    direction: Array,
    log_probs: Array,
    targets: Array,
    steps: Array,
    sizes: Array,
    blank: int,
    of_logits: bool,
) -> Array:
    """Minus the covariances of classes and what the direction adds to an alignment's score; where
    logits are meant, also how the probabilities of classes change."""
    own = grad[:, None] * np.exp(log_probs) * direction * of_logits
    found: Array = own * _counts(log_probs.shape, steps)
    for n, paths in _alignments(log_probs.shape, targets, steps, sizes, blank):
        weights = _weights(log_probs, n, paths)
        weights = weights / weights.sum()
        added = np.asarray([sum(direction[t, n, c] for t, c in enumerate(p)) for p in paths])
        added = added - np.sum(weights * added)
        _take(found[:, n], paths, grad[n] * weights * added)
    return found


def _take(found: Array, paths: Any, amounts: Array) -> None:
    """Takes an amount for each alignment from the classes that it passes through."""
    for path, amount in zip(paths, amounts, strict=True):
        for t, c in enumerate(path):
            found[t, c] -= amount


def reduced_losses(
    log_probs: Array,
    targets: Array,
    steps: Any,
    sizes: Any,
    blank: int,
    reduction: str,
) -> Any:
    """A mean is one of losses divided by the numbers of labels."""
    single = log_probs.ndim == 2
    probs = log_probs[:, None] if single else log_probs
    steps, sizes = np.atleast_1d(steps), np.atleast_1d(sizes)
    found = losses(probs, targets, steps, sizes, blank)
    if reduction == "mean":
        return np.mean(found / np.maximum(sizes, 1))
    return np.sum(found) if reduction == "sum" else found[0] if single else found
