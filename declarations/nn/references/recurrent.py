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


def _step(
    mode: str, x: Array, h: Array, c: Array | None, w: Array, b: Array | float
) -> tuple[Array, Array | None, list[Array]]:
    """State, cell and what is kept after a step."""
    if mode == "LSTM":
        assert c is not None
        i, f, g, o = np.split(x + h @ w.T + b, 4, -1)
        cell = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        state = _sigmoid(o) * np.tanh(cell)
        return state, cell, [_sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o), cell, state]
    if mode == "GRU":
        r, z, n = np.split(x, 3, -1)
        h_r, h_z, past = np.split(h @ w.T + b, 3, -1)
        reset, update = _sigmoid(r + h_r), _sigmoid(z + h_z)
        fresh = np.tanh(n + reset * past)
        state = (1 - update) * fresh + update * h
        return state, None, [reset, update, fresh, past, state]
    total = x + h @ w.T + b
    state = np.tanh(total) if mode == "RNN_TANH" else relu(total)
    return state, None, [state]


def recurrence(
    x: Array,
    h: Array,
    c: Array | None,
    w: Array,
    b: Array | None,
    mode: str,
    batch_sizes: list[int],
    reverse: bool,
    keep: bool,
) -> tuple[Array, ...]:
    """All states, the last state and cell, and what is kept, sample after sample."""
    starts = np.cumsum([0, *batch_sizes])
    count = {"LSTM": 6, "GRU": 5}.get(mode, 1) * h.shape[1]
    output, kept = np.zeros((len(x), h.shape[1])), np.zeros((len(x), count))
    last_h, last_c = np.array(h), np.zeros(0) if c is None else np.array(c)
    for n in range(len(h)):
        rows = [start + n for start, size in zip(starts, batch_sizes, strict=False) if n < size]
        state, cell = h[n], None if c is None else c[n]
        for row in reversed(rows) if reverse else rows:
            state, cell, parts = _step(mode, x[row], state, cell, w, 0.0 if b is None else b)
            output[row] = state
            kept[row] = np.concatenate(parts)
        last_h[n] = state
        if cell is not None:
            last_c[n] = cell
    return output, last_h, last_c, kept if keep else np.zeros((0, 0))
