"""Windows, by NumPy's symmetric ones."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _cut(window: Any, length: int, periodic: bool) -> Array:
    """A periodic window is a symmetric one of one element more, without the last."""
    return np.asarray(window(length + 1)[:-1] if periodic else window(length))


def hann(length: int, periodic: bool) -> Array:
    """A cosine between 0 and 1."""
    return _cut(np.hanning, length, periodic)


def hamming(length: int, periodic: bool) -> Array:
    """A cosine that begins at 0.08."""
    return _cut(np.hamming, length, periodic)


def blackman(length: int, periodic: bool) -> Array:
    """Two cosines."""
    return _cut(np.blackman, length, periodic)


def bartlett(length: int, periodic: bool) -> Array:
    """A triangle."""
    return _cut(np.bartlett, length, periodic)


def kaiser(length: int, periodic: bool, beta: float) -> Array:
    """NumPy's, without the last element of one that is longer by one where it is periodic."""
    return np.kaiser(length + 1, beta)[:-1] if periodic and length > 1 else np.kaiser(length, beta)
