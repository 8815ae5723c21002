"""Steps of recurrent layers, written out over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    """max(x, 0)"""
    return np.maximum(x, 0)


def lstm(x: Array, h: Array, c: Array, w: Array, b: Array) -> tuple[Array, Array]:
    """Output and cell after a step."""
    i, f, g, o = np.split(x + h @ w.T + b, 4, -1)
    cell = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(cell), cell


def gru(x: Array, h: Array, w: Array, b: Array) -> Any:
    """The state after a step."""
    r, z, n = np.split(x, 3, -1)
    h_r, h_z, h_n = np.split(h @ w.T + b, 3, -1)
    update = _sigmoid(z + h_z)
    return (1 - update) * np.tanh(n + _sigmoid(r + h_r) * h_n) + update * h
