"""References for hashing.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def hashed(array: Any, dim: Any, keepdim: bool) -> Any:
    """Exclusive or of elements as words of 64 bits."""
    wide = np.float64 if np.asarray(array).dtype.kind == "f" else np.int64
    words: Any = np.ascontiguousarray(np.asarray(array).astype(wide)).view(np.uint64)
    axes = tuple(dim) if len(dim) else tuple(range(np.ndim(array)))
    join: Any = np.bitwise_xor
    return join.reduce(words, axis=axes, keepdims=keepdim)
