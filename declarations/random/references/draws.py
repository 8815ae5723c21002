"""Quantiles of gamma distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

Array = Any


def gamma_slope(a: Array, log_x: Array) -> Array:
    """The derivative of the logarithm of a quantile by the shape, by differences."""
    x, step = np.exp(log_x), 1e-3 * np.minimum(a, np.sqrt(a))
    lower, upper = special.gammainc(a, x), special.gammaincc(a, x)

    def moved(by: float) -> Array:
        at = a + by * step
        low, high = special.gammaincinv(at, lower), special.gammainccinv(at, upper)
        return np.log(np.where(x < a, low, high))

    return (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step)
