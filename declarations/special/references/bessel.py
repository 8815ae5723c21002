"""Functions that are parts of what SciPy returns."""

from __future__ import annotations

from typing import Any

from scipy import special

Array = Any


def airy(x: Array) -> Array:
    """The Airy function Ai."""
    return special.airy(x)[0]
