"""Losses by margins, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def right_classes(classes: Array) -> list[list[int]]:
    """Of each row those before the first negative one."""
    ends = [next((i for i, c in enumerate(row) if c < 0), len(row)) for row in classes]
    return [[int(c) for c in row[:end]] for row, end in zip(classes, ends, strict=True)]


def pairs(classes: Array) -> Array:
    """Which places of a row hold a right class, and which classes are none."""
    found = np.zeros((*classes.shape, classes.shape[1]), bool)
    for n, right in enumerate(right_classes(classes)):
        for k in range(len(right)):
            found[n, k] = [i not in right for i in range(classes.shape[1])]
    return found


def label_slopes(grad: Array, scores: Array, classes: Array) -> Array:
    """What each pair that is too close pulls apart."""
    found = np.zeros_like(scores)
    for n, right in enumerate(right_classes(classes)):
        for j in right:
            for i in range(scores.shape[1]):
                if i not in right and 1 - (scores[n, j] - scores[n, i]) > 0:
                    found[n, i] += grad[n]
                    found[n, j] -= grad[n]
    return found


def multilabel(scores: Array, target: Array, reduction: str) -> Array:
    """Every pair of a right class and another."""
    rows, classes = np.atleast_2d(scores), np.atleast_2d(target)
    losses = np.zeros(len(rows), scores.dtype)
    for n, (row, right) in enumerate(zip(rows, right_classes(classes), strict=True)):
        others = [i for i in range(row.size) if i not in right]
        losses[n] = sum(max(0.0, 1 - (row[j] - row[i])) for j in right for i in others) / row.size
    found = losses.reshape(scores.shape[:-1])
    return np.asarray(found if reduction == "none" else getattr(np, reduction)(found))
