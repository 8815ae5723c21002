"""Padding, whose amounts are given from the last dim on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]
_MODES: dict[str, Literal["edge", "wrap", "reflect"]] = {
    "replicate": "edge",
    "circular": "wrap",
    "reflect": "reflect",
}


def amounts(x: Array, pad: Sequence[int]) -> list[tuple[int, int]]:
    """Before and behind, for each dim."""
    given = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (x.ndim - len(given)) + given[::-1]


def constant(x: Array, pad: Sequence[int], value: float) -> Array:
    """Negative amounts cut off."""
    widths = amounts(x, pad)
    kept = x[
        tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape, strict=True))
    ]
    return np.pad(kept, [(max(a, 0), max(b, 0)) for a, b in widths], constant_values=value)


def padded(x: Array, pad: Sequence[int], mode: str, value: float | None) -> Array:
    """In a mode."""
    if mode == "constant":
        return np.pad(x, amounts(x, pad), constant_values=value or 0)
    if mode == "circular":
        kept = constant(x, [min(amount, 0) for amount in pad], 0)
        return np.pad(kept, [(max(a, 0), max(b, 0)) for a, b in amounts(x, pad)], "wrap")
    return np.pad(x, amounts(x, pad), _MODES[mode])


def places(count: int, before: int, after: int, mode: str) -> Array:
    """Which element stands where."""
    return padded(np.arange(count), (before, after), mode, None)
