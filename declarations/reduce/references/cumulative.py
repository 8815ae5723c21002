"""Running extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def running_extremes(x: Array, dim: int, largest: bool) -> tuple[Array, Array]:
    """The extremes of the elements so far, the last of equals, and their places."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    along = np.moveaxis(x, dim, -1)
    values = (np.maximum if largest else np.minimum).accumulate(along, -1)
    is_extreme = (along == values) | (np.isnan(along) & np.isnan(values))
    places = np.where(is_extreme, np.arange(along.shape[-1]), 0)
    return np.moveaxis(values, -1, dim), np.moveaxis(np.maximum.accumulate(places, -1), -1, dim)
