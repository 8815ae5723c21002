"""Losses by margins, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def multilabel(scores: Array, target: Array, reduction: str) -> Array:
    """Every pair of a right class and another."""
    rows, classes = np.atleast_2d(scores), np.atleast_2d(target)
    losses = np.zeros(len(rows), scores.dtype)
    for n, (row, given) in enumerate(zip(rows, classes, strict=True)):
        end = next((i for i, c in enumerate(given) if c < 0), len(given))
        right = [int(c) for c in given[:end]]
        others = [i for i in range(row.size) if i not in right]
        losses[n] = sum(max(0.0, 1 - (row[j] - row[i])) for j in right for i in others) / row.size
    found = losses.reshape(scores.shape[:-1])
    return np.asarray(found if reduction == "none" else getattr(np, reduction)(found))
