"""Recurrent layers over sequences."""

from __future__ import annotations

import math
import warnings
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import init
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.rnn_steps import STEPS, State, run_layers
from flambeau.nn.utils.rnn import PackedSequence


class RNNBase(Module):
    """Layers, directions and weights of RNN, LSTM and GRU.

    Weights start uniform in +-1 / sqrt(hidden_size). Layer k has weight_ih_lk, weight_hh_lk,
    bias_ih_lk, bias_hh_lk (and weight_hr_lk with proj_size); those of the second direction end in
    "_reverse".

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        input_size, hidden_size: features of an element and of the state.
        num_layers: layers on top of each other.
        bias: whether there are biases.
        batch_first: input and output are (N, L, ...) instead of (L, N, ...).
        dropout: probability between layers, in training.
        bidirectional: also run backwards; outputs are concatenated.
        proj_size: of LSTM: features of the projected state; 0: none.
        device, dtype: of the parameters.

    Shapes: weight_ih_lk (gates * hidden_size, input_size), of later layers (gates * hidden_size,
    directions * hidden_size); weight_hh_lk (gates * hidden_size, hidden_size); biases (gates *
    hidden_size); gates are 4 of LSTM, 3 of GRU, else 1.

    Example:
        >>> layer = flambeau.nn.GRU(4, 6, bidirectional=True)  # is an RNNBase
        >>> [name for name, _ in layer.named_parameters() if "weight" in name]
        ['weight_ih_l0', 'weight_hh_l0', 'weight_ih_l0_reverse', 'weight_hh_l0_reverse']
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if (
            not isinstance(dropout, int | float)
            or isinstance(dropout, bool)
            or not 0 <= dropout <= 1
        ):
            raise ValueError(
                f"{name}: dropout must be a number within [0, 1], got {brief(dropout)}"
            )
        sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
        for what, size in sizes.items():
            if size <= 0:
                raise ValueError(f"{name}: {what} must be positive, got {brief(size)}")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(
                f"{name}: proj_size must be within [0, hidden_size), got {brief(proj_size)}"
            )
        if dropout and num_layers == 1:
            warnings.warn(
                f"{name}: dropout={dropout} does nothing: it is between layers, and there is one",
                stacklevel=3,
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        gates = STEPS[mode][1] * hidden_size
        output_size = proj_size or hidden_size
        self._weight_names: list[list[str]] = []
        for layer in range(num_layers):
            features = input_size if layer == 0 else output_size * self._directions
            for suffix in ("", "_reverse")[: self._directions]:
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gates, features),
                    "weight_hh": (gates, output_size),
                }
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = []
                for kind, shape in shapes.items():
                    weight = Parameter(flambeau.empty(shape, device=device, dtype=dtype))
                    names.append(f"{kind}_l{layer}{suffix}")
                    self.register_parameter(names[-1], weight)
                self._weight_names.append(names)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of every layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._weight_names]

    def flatten_parameters(self) -> None:
        """Nothing to do: weights need no common memory."""

    def reset_parameters(self) -> None:
        """Draws new weights."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights(self, index: int) -> list[Any]:
        """weight_ih, weight_hh, bias_ih, bias_hh, weight_hr of one layer and direction."""
        found = [getattr(self, name) for name in self._weight_names[index]]
        biases = found[2:4] if self.bias else [None, None]
        return [*found[:2], *biases, found[-1] if self.proj_size else None]

    def _sizes(self) -> tuple[int, ...]:
        """Features of each part of the state."""
        return (self.hidden_size,)

    def _first_state(self, given: State | None, samples: int, input: Tensor) -> State:
        layers = self.num_layers * self._directions
        if given is None:
            return tuple(input.new_zeros([layers, samples, size]) for size in self._sizes())
        for part, size in zip(given, self._sizes(), strict=True):
            if tuple(part.shape) != (layers, samples, size):
                raise RuntimeError(
                    f"{type(self).__name__}: expected a first state of shape "
                    f"{(layers, samples, size)}, got {tuple(part.shape)}"
                )
        return given

    def _check_dtype(self, input: Tensor) -> None:
        expected = getattr(self, self._weight_names[0][0]).dtype
        if input.dtype != expected and not flambeau.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"{type(self).__name__}: expected an input of the weights' dtype {expected}, got "
                f"{input.dtype}"
            )

    def _run(self, input: Any, given: State | None) -> tuple[Any, State]:
        if isinstance(input, PackedSequence):
            self._check_dtype(input.data)
            return self._run_packed(input, given)
        self._check_dtype(input)
        name = type(self).__name__
        if input.dim() not in (2, 3) or input.shape[-1] != self.input_size:
            wrong = ValueError if input.dim() not in (2, 3) else RuntimeError
            raise wrong(
                f"{name}: expected an input of 2 or 3 dimensions, the last of size "
                f"{self.input_size}, got shape {tuple(input.shape)}"
            )
        single = input.dim() == 2
        if single:
            sequence = input.unsqueeze(1)
            given = None if given is None else tuple(s.unsqueeze(1) for s in given)
        else:
            sequence = input.transpose(0, 1) if self.batch_first else input
        if sequence.shape[0] == 0:
            raise RuntimeError(f"{name}: expected a sequence of at least one element")
        state = self._first_state(given, sequence.shape[1], sequence)
        output, last = self._layers(sequence, None, state)
        if single:
            return output.squeeze(1), tuple(s.squeeze(1) for s in last)
        return (output.transpose(0, 1) if self.batch_first else output), last

    def _run_packed(self, input: PackedSequence, given: State | None) -> tuple[Any, State]:
        batch_sizes = [int(n) for n in input.batch_sizes.tolist()]
        if given is not None and input.sorted_indices is not None:
            given = tuple(s.index_select(1, input.sorted_indices) for s in given)
        state = self._first_state(given, batch_sizes[0], input.data)
        output, last = self._layers(input.data, batch_sizes, state)
        if input.unsorted_indices is not None:
            last = tuple(s.index_select(1, input.unsorted_indices) for s in last)
        packed = PackedSequence(
            output, input.batch_sizes, input.sorted_indices, input.unsorted_indices
        )
        return packed, last

    def _layers(
        self, sequence: Tensor, batch_sizes: list[int] | None, state: State
    ) -> tuple[Tensor, State]:
        count = self.num_layers * self._directions
        weights = [self._weights(index) for index in range(count)]
        dropout = self.dropout if self.training else 0.0
        return run_layers(
            self.mode, sequence, batch_sizes, state, weights, self._directions, dropout
        )

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += ", bias=False"
        if self.batch_first:
            text += ", batch_first=True"
        if self.dropout:
            text += f", dropout={self.dropout}"
        return text + (", bidirectional=True" if self.bidirectional else "")


class RNN(RNNBase):
    """A recurrent layer over a sequence, whose next state is a tanh of input and state.

    Args:
        input_size, hidden_size: features of an element and of the state.
        num_layers: layers on top of each other.
        nonlinearity: "tanh" or "relu".
        bias: whether there are biases.
        batch_first: input and output are (N, L, ...) instead of (L, N, ...).
        dropout: probability between layers, in training.
        bidirectional: also run backwards; outputs are concatenated.
        device, dtype: of the parameters.

    Shapes: input (L, N, input_size), or (L, input_size) for one sequence, or a PackedSequence; h_0
    and h_n (num_layers * directions, N, hidden_size); output (L, N, directions * hidden_size).

    Equations:
        h[t] = tanh(W_ih @ x[t] + b_ih + W_hh @ h[t-1] + b_hh)

    Source: J. Elman, Finding Structure in Time, 1990.

    Example:
        >>> layer = flambeau.nn.RNN(input_size=4, hidden_size=6)
        >>> output, h = layer(flambeau.ones(5, 2, 4))
        >>> output.shape, h.shape
        (flambeau.Size([5, 2, 6]), flambeau.Size([1, 2, 6]))
        >>> bool((output[-1] == h[0]).all())  # the last output is the last state
        True
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"RNN: nonlinearity must be 'tanh' or 'relu', got {brief(nonlinearity)}"
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (h,) = self._run(input, None if hx is None else (hx,))
        return output, h


class GRU(RNNBase):
    """Gated recurrent units over a sequence. Gates are stacked in the order reset, update, new.

    Args:
        input_size, hidden_size: features of an element and of the state.
        num_layers: layers on top of each other.
        bias: whether there are biases.
        batch_first: input and output are (N, L, ...) instead of (L, N, ...).
        dropout: probability between layers, in training.
        bidirectional: also run backwards; outputs are concatenated.
        device, dtype: of the parameters.

    Shapes: input (L, N, input_size), or (L, input_size) for one sequence, or a PackedSequence; h_0
    and h_n (num_layers * directions, N, hidden_size); output (L, N, directions * hidden_size).

    Equations:
        r[t] = sigmoid(W_ir @ x[t] + b_ir + W_hr @ h[t-1] + b_hr)
        z[t] = sigmoid(W_iz @ x[t] + b_iz + W_hz @ h[t-1] + b_hz)
        n[t] = tanh(W_in @ x[t] + b_in + r[t] * (W_hn @ h[t-1] + b_hn))
        h[t] = (1 - z[t]) * n[t] + z[t] * h[t-1]

    Products with * are elementwise. The reset gate is applied after the product with W_hn, so that
    both halves of the gates are one matrix product.

    Source: K. Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.

    Example:
        >>> layer = flambeau.nn.GRU(input_size=4, hidden_size=6, num_layers=2, batch_first=True)
        >>> output, h = layer(flambeau.ones(3, 5, 4))
        >>> output.shape, h.shape
        (flambeau.Size([3, 5, 6]), flambeau.Size([2, 3, 6]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (h,) = self._run(input, None if hx is None else (hx,))
        return output, h


class LSTM(RNNBase):
    """Long short-term memory over a sequence. Gates are stacked in the order input, forget, cell,
    output.

    Args:
        input_size, hidden_size: features of an element and of the state.
        num_layers: layers on top of each other.
        bias: whether there are biases.
        batch_first: input and output are (N, L, ...) instead of (L, N, ...).
        dropout: probability between layers, in training.
        bidirectional: also run backwards; outputs are concatenated.
        proj_size: if positive, h is projected to so many features: W_hr @ h[t].
        device, dtype: of the parameters.

    Shapes: input (L, N, input_size), or (L, input_size) for one sequence, or a PackedSequence; the
    state is (h, c) with c (num_layers * directions, N, hidden_size) and h of proj_size (or
    hidden_size) features; output (L, N, directions * features of h).

    Equations:
        i[t] = sigmoid(W_ii @ x[t] + b_ii + W_hi @ h[t-1] + b_hi)
        f[t] = sigmoid(W_if @ x[t] + b_if + W_hf @ h[t-1] + b_hf)
        g[t] = tanh(W_ig @ x[t] + b_ig + W_hg @ h[t-1] + b_hg)
        o[t] = sigmoid(W_io @ x[t] + b_io + W_ho @ h[t-1] + b_ho)
        c[t] = f[t] * c[t-1] + i[t] * g[t]
        h[t] = o[t] * tanh(c[t])

    Products with * are elementwise.

    Sources: S. Hochreiter, J. Schmidhuber, Long Short-Term Memory, 1997; F. Gers et al., Learning
    to Forget, 2000; H. Sak et al., Long Short-Term Memory Based Recurrent Neural Network
    Architectures, 2014 (projections).

    Example:
        >>> layer = flambeau.nn.LSTM(input_size=4, hidden_size=6, batch_first=True)
        >>> result, (h, c) = layer(flambeau.ones(2, 5, 4))
        >>> result.shape, h.shape, c.shape
        (flambeau.Size([2, 5, 6]), flambeau.Size([1, 2, 6]), flambeau.Size([1, 2, 6]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def _sizes(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size)

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        output, state = self._run(input, hx)
        return output, (state[0], state[1])
