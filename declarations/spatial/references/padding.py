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
    padded_whole = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in amounts(x, pad)], _MODES[mode])
    return constant(padded_whole, [min(amount, 0) for amount in pad], 0)


def places(count: int, before: int, after: int, mode: str) -> Array:
    """Which element stands where."""
    return padded(np.arange(count), (before, after), mode, None)


def collected(grad: Array, size: Sequence[int], pad: Sequence[int], mode: str) -> Array:
    """What is added to each element of a tensor of this size, of a gradient of the padded one."""
    made_of = padded(np.arange(np.prod(size)).reshape(size), pad, mode, None)
    result = np.zeros(np.prod(size), grad.dtype)
    np.add.at(result, made_of.ravel(), grad.ravel())
    return result.reshape(size)
