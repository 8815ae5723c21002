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
_recurrence = _C._internal.recurrence
_recurrence_grad = _C._internal.recurrence_grad

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
    mode: str,
    input: Tensor,
    batch_sizes: list[int] | None,
    state: State,
    weights: Sequence[Any],
    reverse: bool,
) -> tuple[Tensor, State]:
    """One layer in one direction over (L, N, features): outputs (L, N, H) and the last state.

    Args:
        batch_sizes: where they are given, `input` is packed (total, features), and so are outputs.
        weights: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr; the last three may be None.
        reverse: from the last element to the first.
    """
    w_ih, w_hh, b_ih, b_hh, projection = weights
    if projection is None and in_one_call((input, *state, w_ih, w_hh, b_ih, b_hh)):
        return run_in_one_call(mode, input, batch_sizes, state, weights, reverse)
    projected = _linear(input, w_ih, b_ih)
    if batch_sizes is None:
        return step_whole(mode, projected, state, weights[1:], reverse)
    return step_packed(mode, projected, batch_sizes, state, weights[1:], reverse)


def in_one_call(tensors: Sequence[Tensor | None]) -> bool:
    """Whether one operator can run all steps: values of one dtype, on which nothing but gradients
    looks."""
    given = [t for t in tensors if t is not None]
    first = given[0]
    return (
        first.device.type == "cpu"
        and first.dtype in (flambeau.float32, flambeau.float64)
        and all(t.dtype == first.dtype and t.device == first.device for t in given)
        and not flambeau.is_autocast_enabled("cpu")
        and not _C._overrides.has_torch_function(given)
        and all(_C._autograd.tangent(t) is None for t in given)
    )


def run_in_one_call(
    mode: str,
    input: Tensor,
    batch_sizes: list[int] | None,
    state: State,
    weights: Sequence[Any],
    reverse: bool,
) -> tuple[Tensor, State]:
    """run_direction without a projection, by an operator that runs all steps."""
    w_ih, w_hh, b_ih, b_hh, _ = weights
    if mode != "GRU" and b_ih is not None:
        # What is added to the same sum is added once.
        b_ih, b_hh = b_ih + b_hh, None
    rows = _linear(input, w_ih, b_ih)
    sizes = [input.shape[1]] * input.shape[0] if batch_sizes is None else batch_sizes
    if batch_sizes is None:
        rows = rows.flatten(0, 1)
    cell = state[1] if mode == "LSTM" else None
    parts = (rows, state[0], cell, w_hh, b_hh)
    if flambeau.is_grad_enabled() and any(t is not None and t.requires_grad for t in parts):
        found = Recurrence.apply(*parts, mode, sizes, reverse)
    else:
        found = _recurrence(*parts, mode, sizes, reverse, False)
    output = found[0] if batch_sizes is not None else found[0].unflatten(0, input.shape[:2])
    return output, found[1:3] if mode == "LSTM" else found[1:2]


class Recurrence(flambeau.autograd.Function):
    """All steps of a direction: output, last state and, of an LSTM, last cell."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        x, h, c, w, b, mode, batch_sizes, reverse = args
        output, last_h, last_c, kept = _recurrence(x, h, c, w, b, mode, batch_sizes, reverse, True)
        ctx.save_for_backward(x, h, c, w, b, kept)
        ctx.how = mode, batch_sizes, reverse
        return (output, last_h) if c is None else (output, last_h, last_c)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, h, c, w, b, kept = ctx.saved_tensors
        if flambeau.is_grad_enabled() or _C._overrides.has_torch_function(grads):
            return *_grads_of_steps(grads, (x, h, c, w, b), ctx.how), None, None, None
        grad_output, grad_h, grad_c = grads if len(grads) == 3 else (*grads, None)
        found = _recurrence_grad(grad_output, grad_h, grad_c, h, c, w, b, kept, *ctx.how)
        for_c, for_b = None if c is None else found[2], None if b is None else found[4]
        return *found[:2], for_c, found[3], for_b, None, None, None


def _grads_of_steps(
    grads: Sequence[Any], inputs: Sequence[Any], how: tuple[str, list[int], bool]
) -> list[Any]:
    """The gradients of inputs by single steps, whose operators have derivatives of every order and
    rules for batches."""
    mode, batch_sizes, reverse = how
    recording = flambeau.is_grad_enabled()
    if not recording:
        inputs = [t if t is None else t.detach().requires_grad_() for t in inputs]
    x, h, c, w, b = inputs
    with flambeau.enable_grad():
        state = (h,) if c is None else (h, c)
        output, last = step_packed(mode, x, batch_sizes, state, (w, None, b, None), reverse)
    wanted = [t for t in inputs if t is not None and t.requires_grad]
    found = iter(
        flambeau.autograd.grad(
            (output, *last), wanted, grads, create_graph=recording, allow_unused=True
        )
    )
    return [next(found) if t is not None and t.requires_grad else None for t in inputs]


def step_whole(
    mode: str, projected: Tensor, state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Tensor, State]:
    """run_direction step by step, of products of the input with its weights.

    Args:
        weights: those of run_direction but the first.
    """
    step = STEPS[mode][0]
    w_hh, _, b_hh, projection = weights
    outputs = []
    steps = projected.unbind(0)
    for x in reversed(steps) if reverse else steps:
        state = step(x, state, w_hh, b_hh, projection)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return flambeau.stack(outputs, 0), state


def step_packed(
    mode: str,
    projected: Tensor,
    batch_sizes: list[int],
    state: State,
    weights: Sequence[Any],
    reverse: bool,
) -> tuple[Tensor, State]:
    """step_whole over packed sequences, the longest first: (total, features)."""
    step = STEPS[mode][0]
    w_hh, _, b_hh, projection = weights
    steps = projected.split(batch_sizes, 0)
    outputs: list[Tensor] = []
    if reverse:
        # Shorter sequences join later, with their first state.
        current = tuple(s[: batch_sizes[-1]] for s in state)
        for x in reversed(steps):
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
    for x in steps:
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
    last: list[State] = []
    for layer in range(0, len(weights), directions):
        if layer and dropout:
            sequence = _C.nn.functional.dropout(sequence, dropout, True)
        outputs = []
        for index in range(layer, layer + directions):
            first = tuple(s[index] for s in state)
            reverse = index > layer
            output, final = run_direction(
                mode, sequence, batch_sizes, first, weights[index], reverse
            )
            outputs.append(output)
            last.append(final)
        sequence = outputs[0] if len(outputs) == 1 else flambeau.cat(outputs, -1)
    return sequence, tuple(flambeau.stack(parts, 0) for parts in zip(*last, strict=True))
