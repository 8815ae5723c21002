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
    """Weights of one step of a recurrent layer, which start uniform in +-1 / sqrt(hidden_size).

    Args:
        input_size, hidden_size: features of input and state.
        bias: whether there are biases.
        num_chunks: gates: 4 of LSTMCell, 3 of GRUCell, else 1.
        device, dtype: of the parameters.

    Shapes: weight_ih (num_chunks * hidden_size, input_size), weight_hh (num_chunks * hidden_size,
    hidden_size), bias_ih and bias_hh (num_chunks * hidden_size).

    Example:
        >>> cell = flambeau.nn.LSTMCell(4, 6)  # is an RNNCellBase
        >>> cell.weight_ih.shape, cell.weight_hh.shape
        (flambeau.Size([24, 4]), flambeau.Size([24, 6]))
    """

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
    """One step of RNN.

    Args:
        input_size, hidden_size: features of input and state.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".
        device, dtype: of the parameters.

    Shapes: input (N, input_size) or (input_size), state and result the same with hidden_size.

    Equations:
        h[t] = tanh(W_ih @ x[t] + b_ih + W_hh @ h[t-1] + b_hh)

    Example:
        >>> cell = flambeau.nn.RNNCell(4, 6)
        >>> h = flambeau.zeros(2, 6)
        >>> for x in flambeau.ones(5, 2, 4):
        ...     h = cell(x, h)
        >>> h.shape
        flambeau.Size([2, 6])
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
    """One step of GRU, whose equations it has.

    Args:
        input_size, hidden_size: features of input and state.
        bias: whether there are biases.
        device, dtype: of the parameters.

    Shapes: input (N, input_size) or (input_size), state and result the same with hidden_size.

    Example:
        >>> cell = flambeau.nn.GRUCell(4, 6)
        >>> cell(flambeau.ones(2, 4)).shape  # the first state is zeros
        flambeau.Size([2, 6])
    """

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
    """One step of LSTM, whose equations it has: takes and returns the state (h, c).

    Args:
        input_size, hidden_size: features of input and state.
        bias: whether there are biases.
        device, dtype: of the parameters.

    Shapes: input (N, input_size) or (input_size), both parts of the state the same with
    hidden_size.

    Example:
        >>> cell = flambeau.nn.LSTMCell(4, 6)
        >>> h, c = cell(flambeau.ones(2, 4))
        >>> h, c = cell(flambeau.ones(2, 4), (h, c))
        >>> h.shape, c.shape
        (flambeau.Size([2, 6]), flambeau.Size([2, 6]))
    """

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
