"""One step of recurrent layers, and running steps over sequences.

Sources: J. Elman, Finding Structure in Time, 1990; S. Hochreiter, J. Schmidhuber, Long Short-Term
Memory, 1997 (with the forget gate of F. Gers et al., 2000, and the projection of H. Sak et al.,
2014); K. Cho et al., Learning Phrase Representations, 2014 (GRU, the reset gate after the product).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import _C, Tensor

_linear = _C.nn.functional.linear
_lstm_gates = _C._internal.lstm_gates

# (h,) or (h, c): rows are samples.
State = tuple[Tensor, ...]
# (projected input, state, weight_hh, bias_hh, weight_hr) -> state
Step = Callable[[Tensor, State, Tensor, Tensor | None, Tensor | None], State]


def tanh_step(x: Tensor, state: State, w: Tensor, b: Tensor | None, p: Tensor | None) -> State:
    """h' = tanh(x + h w.T + b)."""
    return ((x + _linear(state[0], w, b)).tanh(),)


def relu_step(x: Tensor, state: State, w: Tensor, b: Tensor | None, p: Tensor | None) -> State:
    """h' = max(x + h w.T + b, 0)."""
    return ((x + _linear(state[0], w, b)).relu(),)


def lstm_step(x: Tensor, state: State, w: Tensor, b: Tensor | None, p: Tensor | None) -> State:
    """c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c'), projected by `p` if
    given."""
    h, c = state
    i, f, g, o = (x + _linear(h, w, b)).chunk(4, -1)
    h, c = _lstm_gates(i, f, g, o, c)
    return (h if p is None else _linear(h, p)), c


def gru_step(x: Tensor, state: State, w: Tensor, b: Tensor | None, p: Tensor | None) -> State:
    """n = tanh(x_n + sigmoid(r) h_n); h' = n + sigmoid(z) (h - n)."""
    h = state[0]
    x_r, x_z, x_n = x.chunk(3, -1)
    h_r, h_z, h_n = _linear(h, w, b).chunk(3, -1)
    new = (x_n + (x_r + h_r).sigmoid() * h_n).tanh()
    return (new + (x_z + h_z).sigmoid() * (h - new),)


# mode: (step, gates)
STEPS: dict[str, tuple[Step, int]] = {
    "RNN_TANH": (tanh_step, 1),
    "RNN_RELU": (relu_step, 1),
    "LSTM": (lstm_step, 4),
    "GRU": (gru_step, 3),
}


def run_direction(
    step: Step, input: Tensor, state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Tensor, State]:
    """One layer in one direction over (L, N, features): outputs (L, N, H) and the last state.

    Args:
        weights: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr; the last three may be None.
        reverse: from the last element to the first.
    """
    w_ih, w_hh, b_ih, b_hh, projection = weights
    projected = _linear(input, w_ih, b_ih).unbind(0)
    outputs = []
    for x in reversed(projected) if reverse else projected:
        state = step(x, state, w_hh, b_hh, projection)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return flambeau.stack(outputs, 0), state


def run_packed(
    step: Step,
    data: Tensor,
    batch_sizes: list[int],
    state: State,
    weights: Sequence[Any],
    reverse: bool,
) -> tuple[Tensor, State]:
    """run_direction over packed sequences, the longest first: (total, features)."""
    w_ih, w_hh, b_ih, b_hh, projection = weights
    projected = _linear(data, w_ih, b_ih).split(batch_sizes, 0)
    outputs: list[Tensor] = []
    if reverse:
        # Shorter sequences join later, with their first state.
        current = tuple(s[: batch_sizes[-1]] for s in state)
        for x in reversed(projected):
            rows = x.shape[0]
            have = current[0].shape[0]
            if rows > have:
                current = tuple(
                    flambeau.cat([c, s[have:rows]], 0) for c, s in zip(current, state, strict=True)
                )
            current = step(x, current, w_hh, b_hh, projection)
            outputs.append(current[0])
        outputs.reverse()
        return flambeau.cat(outputs, 0), current
    # Shorter sequences leave earlier, with their last state.
    current, finished = state, []
    for x in projected:
        rows = x.shape[0]
        if rows < current[0].shape[0]:
            finished.append(tuple(c[rows:] for c in current))
            current = tuple(c[:rows] for c in current)
        current = step(x, current, w_hh, b_hh, projection)
        outputs.append(current[0])
    finished.append(current)
    last = tuple(flambeau.cat(parts, 0) for parts in zip(*reversed(finished), strict=True))
    return flambeau.cat(outputs, 0), last
