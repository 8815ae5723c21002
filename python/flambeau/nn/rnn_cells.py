"""Single steps of recurrent layers."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.rnn_steps import STEPS, State

_f: Any = F


class RNNCellBase(Module):
    """weight_ih (gates * hidden_size, input_size), weight_hh, bias_ih, bias_hh; uniform in
    +-1 / sqrt(hidden_size)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        where = {"device": device, "dtype": dtype}
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(flambeau.empty((rows, input_size), **where))
        self.weight_hh = Parameter(flambeau.empty((rows, hidden_size), **where))
        self.register_parameter(
            "bias_ih", Parameter(flambeau.empty(rows, **where)) if bias else None
        )
        self.register_parameter(
            "bias_hh", Parameter(flambeau.empty(rows, **where)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _advance(self, mode: str, input: Tensor, state: State | None, parts: int) -> State:
        if input.dim() not in (1, 2) or input.shape[-1] != self.input_size:
            raise _wrong_shape(input)(
                f"{type(self).__name__}: expected an input of shape (N, {self.input_size}) or "
                f"({self.input_size},), got {tuple(input.shape)}"
            )
        if state is None:
            zeros = input.new_zeros([*input.shape[:-1], self.hidden_size])
            state = (zeros,) * parts
        expected = (*input.shape[:-1], self.hidden_size)
        for part in state:
            if tuple(part.shape) != expected:
                raise _wrong_shape(part)(
                    f"{type(self).__name__}: expected a state of shape {expected} for an input of "
                    f"shape {tuple(input.shape)}, got {tuple(part.shape)}"
                )
        projected = _f.linear(input, self.weight_ih, self.bias_ih)
        return STEPS[mode][0](projected, state, self.weight_hh, self.bias_hh, None)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


def _wrong_shape(given: Tensor) -> type[Exception]:
    """A ValueError says that the number of dimensions is wrong, a RuntimeError that sizes are."""
    return RuntimeError if given.dim() in (1, 2) else ValueError


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh).

    Args:
        input_size, hidden_size: features of input and state.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".

    Shapes: input (N, input_size) or (input_size,), state and result the same with hidden_size.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"RNNCell: nonlinearity must be 'tanh' or 'relu', got {brief(nonlinearity)}"
            )
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._advance(mode, input, None if hx is None else (hx,), 1)[0]


class GRUCell(RNNCellBase):
    """One step of GRU; shapes as of RNNCell."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._advance("GRU", input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM: takes and returns the state (h, c); shapes as of RNNCell."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = self._advance("LSTM", input, hx, 2)
        return h, c
