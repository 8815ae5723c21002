"""Complex numbers as pairs along a last dim."""

from __future__ import annotations

from typing import Any

import numpy as np


def paired(numbers: Any) -> Any:
    """Real and imaginary parts."""
    return np.stack([numbers.real, numbers.imag], -1)


def unpaired(pairs: Any) -> Any:
    """The numbers that pairs stand for."""
    return pairs[..., 0] + 1j * pairs[..., 1]


def axes(count: int) -> tuple[int, ...]:
    """The last dims."""
    return tuple(range(-count, 0))
