"""Numeric derivatives that know where they cannot be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

STEP = 1e-4
# Relative disagreement of two step sizes, or of the two sides, beyond which a point counts as a
# kink or jump.
TRUSTED = 1e-3
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Difference:
    """A numeric derivative, elementwise; `error` estimates its own error, `trusted` masks smooth
    points.
    """

    value: Any
    error: Any
    trusted: Any


def central_difference(function: Callable[[float], Any], step: float = STEP) -> Difference:
    """d function(t) / dt at 0, extrapolated from two step sizes."""
    with np.errstate(all="ignore"):
        here = np.asarray(function(0.0))
        coarse_up, coarse_down = np.asarray(function(step)), np.asarray(function(-step))
        fine_up, fine_down = np.asarray(function(step / 2)), np.asarray(function(-step / 2))
        coarse = (coarse_up - coarse_down) / (2 * step)
        fine = (fine_up - fine_down) / step
        value = (4 * fine - coarse) / 3
        error = np.abs(fine - coarse)
        # Across a kink the two sides have different slopes, however small the step.
        bend = np.abs(coarse_up - 2 * here + coarse_down) / step
        size = 1 + np.abs(value)
        trusted = np.isfinite(value) & (error < TRUSTED * size) & (bend < 30 * TRUSTED * size)
    return Difference(value, error, trusted)


def disagreement(found: Any, difference: Difference) -> tuple[float, float] | None:
    """(derivative, difference) where they disagree most, among trusted points; None where they
    agree.
    """
    with np.errstate(all="ignore"):
        found, expected = np.broadcast_arrays(np.asarray(found), np.asarray(difference.value))
        allowed = TOLERANCE * (1 + np.abs(expected)) + 10 * np.asarray(difference.error)
        excess = np.abs(found - expected) / allowed
        excess = np.where(np.isnan(found), np.inf, excess)
        excess = np.where(np.broadcast_to(difference.trusted, excess.shape), excess, 0.0)
    if excess.size == 0 or excess.max() <= 1:
        return None
    worst = np.unravel_index(int(np.argmax(excess)), excess.shape)
    return found[worst], expected[worst]
