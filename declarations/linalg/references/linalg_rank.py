"""References for linalg_rank.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def rank_tolerance(values: Any, atol: Any, rtol: Any, size: int) -> Any:
    """The larger of both."""
    usual = float(np.finfo(values.dtype).eps) * size
    atol = np.asarray(0.0 if atol is None else atol)
    rtol = np.where(atol > 0, 0.0, usual) if rtol is None else rtol
    return np.maximum(atol, rtol * np.max(values, -1))[..., None]
