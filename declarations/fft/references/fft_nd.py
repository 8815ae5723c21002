"""Fourier transforms over several dims by NumPy's, in the terms of the entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
_OTHER_WAY: dict[str | None, Any] = {
    None: "forward",
    "backward": "forward",
    "forward": "backward",
    "ortho": "ortho",
}


def over(name: str, x: Array, s: Sequence[int] | None, dim: Any, norm: str | None) -> Array:
    """A transform of NumPy over several dims; what it lacks is made of others."""
    axes = _axes(x, s, dim)
    sizes = _sizes(name, x, s, axes)
    if name == "hfftn":
        return np.fft.irfftn(np.conj(x), sizes, axes, _OTHER_WAY[norm])
    if name == "ihfftn":
        return np.conj(np.fft.rfftn(x, sizes, axes, _OTHER_WAY[norm]))
    return getattr(np.fft, name)(x, sizes, axes, norm)


def _axes(x: Array, s: Sequence[int] | None, dim: Any) -> list[int]:
    if dim is not None:
        return list(dim)
    return list(range(x.ndim - (x.ndim if s is None else len(s)), x.ndim))


def _sizes(name: str, x: Array, s: Sequence[int] | None, axes: list[int]) -> list[int]:
    sizes = [x.shape[axis] for axis in axes]
    if name in ("irfftn", "hfftn"):
        sizes[-1] = 2 * (sizes[-1] - 1)
    if s is not None:
        sizes = [old if new == -1 else new for old, new in zip(sizes, s, strict=True)]
    return sizes
