"""Losses of projected features."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def cross(x: Array, weight: Array, target: Array, bias: Array | None, reduction: str) -> Array:
    """Minus the logarithm of each true class's softmax."""
    logits = x @ weight.T if weight.ndim == 2 else np.einsum("nf,cdf->ndc", x, weight)
    if bias is not None:
        logits = logits + np.moveaxis(bias, 0, -1)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(logs, np.asarray(target)[..., None], -1)[..., 0]
    return np.asarray(losses if reduction == "none" else getattr(np, reduction)(losses))
