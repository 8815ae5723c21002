"""References for linalg_norms.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def matrix_norm(x: Any, order: Any, dim: Sequence[int], keepdim: bool) -> Any:
    """Of NumPy."""
    return np.linalg.norm(x, order, tuple(dim), keepdim)
