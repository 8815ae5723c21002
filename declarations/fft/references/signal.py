"""Short-time Fourier transforms, piece by piece."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def short_time(
    x: Array,
    n: int,
    step: int | None,
    length: int | None,
    window: Array | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
) -> Array:
    """The transforms of the pieces, [..., frequencies, pieces]."""
    step = n // 4 if step is None else step
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n // 2, n // 2)], "reflect")
    weights = _window(n, length, window)
    starts = range(0, x.shape[-1] - n + 1, step)
    pieces = np.stack([x[..., s : s + n] * weights for s in starts], -2)
    half = onesided if onesided is not None else not np.iscomplexobj(pieces)
    norm: Any = "ortho" if normalized else "backward"
    transform = np.fft.rfft if half else np.fft.fft
    return np.swapaxes(transform(pieces, axis=-1, norm=norm), -1, -2)


def from_short_time(
    x: Array,
    n: int,
    step: int | None,
    length: int | None,
    window: Array | None,
    center: bool,
    normalized: bool,
    size: int | None,
) -> Array:
    """The signal, as a weighed mean of what the pieces say."""
    step = n // 4 if step is None else step
    weights = _window(n, length, window)
    norm: Any = "ortho" if normalized else "backward"
    pieces = np.fft.irfft(np.swapaxes(x, -1, -2), n, axis=-1, norm=norm) * weights
    total = n + step * (x.shape[-1] - 1)
    signal, squares = np.zeros((*pieces.shape[:-2], total)), np.zeros(total)
    for i in range(pieces.shape[-2]):
        signal[..., i * step : i * step + n] += pieces[..., i, :]
        squares[i * step : i * step + n] += weights**2
    start = n // 2 if center else 0
    end = total - start if size is None else start + size
    return signal[..., start:end] / squares[start:end]


def _window(n: int, length: int | None, window: Array | None) -> Array:
    length = n if length is None else length
    left = (n - length) // 2
    weights = np.ones(length) if window is None else window
    return np.pad(weights, (left, n - length - left))
