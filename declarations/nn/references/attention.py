"""Attention in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

Array = np.ndarray[Any, Any]


def attention(
    query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float | None
) -> Array:
    """Heads of `key` and `value` serve several of `query`; rows without any score give zeros."""
    groups = query.shape[-3] // key.shape[-3]
    key, value = np.repeat(key, groups, -3), np.repeat(value, groups, -3)
    scale = 1 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ np.swapaxes(key, -1, -2) * scale
    if causal:
        mask = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
    if mask is not None:
        is_choice = np.array_equal(mask, mask != 0)
        scores = np.where(mask, scores, -np.inf) if is_choice else scores + mask
    weights: Array = np.nan_to_num(softmax(scores, -1))
    return np.asarray(weights @ value)
