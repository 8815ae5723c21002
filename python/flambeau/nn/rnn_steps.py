"""Running steps of recurrent layers, which are operators, over sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import _C, Tensor

_linear = _C.nn.functional.linear
_elman_step = _C._internal.elman_step
_lstm_step = _C._internal.lstm_step
_gru_step = _C._internal.gru_step

# (h,) or (h, c): rows are samples.
State = tuple[Tensor, ...]
# (projected input, state, weight_hh, bias_hh, weight_hr) -> state
Step = Callable[[Tensor, State, Tensor, Tensor | None, Tensor | None], State]


def _tanh(x: Tensor, state: State, w: Tensor, b: Tensor | None, p: Tensor | None) -> State:
    return (_elman_step(x, state[0], w, b, "tanh"),)


def _relu(x: Tensor, state: State, w: Tensor, b: Tensor | None, p: Tensor | None) -> State:
    return (_elman_step(x, state[0], w, b, "relu"),)


def _lstm(x: Tensor, state: State, w: Tensor, b: Tensor | None, p: Tensor | None) -> State:
    """With the projection of H. Sak et al., Long Short-Term Memory Recurrent Neural Network
    Architectures, 2014, where there is one."""
    h, c = _lstm_step(x, state[0], state[1], w, b)
    return (h if p is None else _linear(h, p)), c


def _gru(x: Tensor, state: State, w: Tensor, b: Tensor | None, p: Tensor | None) -> State:
    return (_gru_step(x, state[0], w, b),)


# mode: (step, gates)
STEPS: dict[str, tuple[Step, int]] = {
    "RNN_TANH": (_tanh, 1),
    "RNN_RELU": (_relu, 1),
    "LSTM": (_lstm, 4),
    "GRU": (_gru, 3),
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


def run_layers(
    mode: str,
    sequence: Tensor,
    batch_sizes: list[int] | None,
    state: State,
    weights: Sequence[Sequence[Any]],
    directions: int,
    dropout: float,
) -> tuple[Tensor, State]:
    """Layers on top of each other, each in one or two directions.

    Args:
        sequence: (L, N, features), or packed (total, features) where there are `batch_sizes`.
        state: parts of (layers * directions, N, H).
        weights: as of run_direction, for each layer and direction.
        dropout: between layers.

    Returns:
        outputs (L, N, directions * H) or (total, directions * H), and the last state.
    """
    step = STEPS[mode][0]
    last: list[State] = []
    for layer in range(0, len(weights), directions):
        if layer and dropout:
            sequence = _C.nn.functional.dropout(sequence, dropout, True)
        outputs = []
        for index in range(layer, layer + directions):
            first = tuple(s[index] for s in state)
            reverse = index > layer
            if batch_sizes is None:
                output, final = run_direction(step, sequence, first, weights[index], reverse)
            else:
                output, final = run_packed(
                    step, sequence, batch_sizes, first, weights[index], reverse
                )
            outputs.append(output)
            last.append(final)
        sequence = outputs[0] if len(outputs) == 1 else flambeau.cat(outputs, -1)
    return sequence, tuple(flambeau.stack(parts, 0) for parts in zip(*last, strict=True))
