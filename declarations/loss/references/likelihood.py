"""Negative log-likelihoods, as numbers of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def gaussian_nll(x: Array, target: Array, var: Array, full: bool) -> Any:
    """Of normal distributions with a variance each, or one for each row."""
    var = var if var.ndim == x.ndim else var[..., None]
    losses = 0.5 * (np.log(var) + (x - target) ** 2 / var)
    return losses.mean() + (0.5 * np.log(2 * np.pi) if full else 0)
