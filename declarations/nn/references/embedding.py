"""References for embedding.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def limited_rows(weight: Any, max_norm: float, norm_type: float) -> Any:
    """Every row, scaled down to a length where it is longer."""
    length = np.linalg.norm(weight, norm_type, axis=1, keepdims=True)
    return np.where(length > max_norm, weight * (max_norm / (length + 1e-7)), weight)
