"""Where arrays differ."""

from __future__ import annotations

from typing import Any

import numpy as np

_LOOKED_AT = 1000


def wrong_places(expected: Any, got: Any, tolerance: float, sizes: Any = None) -> Any:
    """Where two arrays differ by more than the tolerance, of 1, of the number, or of a middling
    one: sums that cancel are as exact as what they are made of. Parts of a complex number are as
    exact as it is. None where nowhere.
    """
    if expected.dtype.kind == "c":
        with np.errstate(all="ignore"):
            sizes = np.abs(expected.astype(np.complex128))
        parts = [wrong_places(f(expected), f(got), tolerance, sizes) for f in (np.real, np.imag)]
        found = [part for part in parts if part is not None]
        return np.logical_or.reduce(found) if found else None
    if expected.dtype.kind != "f":
        wrong = expected != got
    else:
        with np.errstate(all="ignore"):
            finite = np.isfinite(expected) & np.isfinite(got)
            same = (expected == got) | (np.isnan(expected) & np.isnan(got))
            if sizes is None:
                sizes = np.abs(expected.astype(np.float64))
            found = sizes[finite]
            middle = np.quantile(found, 0.5, method="lower") if found.size else 0.0
            near = np.abs(expected.astype(np.float64) - got) <= tolerance * (1 + sizes + middle)
        wrong = ~(same | (finite & near))
    return wrong if np.any(wrong) else None


def kinds(expected: Any, got: Any) -> str:
    """What stands for what: it says more than the numbers do."""
    pairs = zip(got[:_LOOKED_AT], expected[:_LOOKED_AT], strict=True)
    return ", ".join(sorted({f"{_word(a)} for {_word(b)}" for a, b in pairs}))


def _word(number: Any) -> str:
    if np.isnan(number):
        return "nan"
    return "inf" if np.isinf(number) else "number" if number else "zero"
