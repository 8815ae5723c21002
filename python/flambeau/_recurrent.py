"""Recurrent layers as functions of weights in a list, of whole and of packed sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau._C import Tensor

__all__ = ["gru", "lstm", "rnn_relu", "rnn_tanh"]

_WHOLE = "(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)"
_PACKED = "(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)"


def _run(name: str, mode: str, args: tuple[Any, ...], hx_is_list: bool) -> tuple[Tensor, ...]:
    """Output and state, from the arguments of either form."""
    from flambeau.nn.rnn_steps import run_layers

    if len(args) != 9:
        raise TypeError(f"{name}(): expected {_WHOLE} or {_PACKED}, got {len(args)} arguments")
    is_packed = isinstance(args[1 if hx_is_list else 2], Tensor)
    if is_packed:
        data, batch_sizes, hx, params, has_biases, layers, dropout, train, both = args
        sizes, by_batch = [int(n) for n in batch_sizes.tolist()], False
    else:
        data, hx, params, has_biases, layers, dropout, train, both, by_batch = args
        sizes = None
    state = tuple(hx) if hx_is_list else (hx,)
    directions = 2 if both else 1
    weights = _grouped(name, params, has_biases, layers * directions)
    output, last = run_layers(
        mode,
        data.transpose(0, 1) if by_batch else data,
        sizes,
        state,
        weights,
        directions,
        dropout if train else 0.0,
    )
    return output.transpose(0, 1) if by_batch else output, *last


def _grouped(name: str, params: Sequence[Tensor], has_biases: bool, count: int) -> list[list[Any]]:
    """weight_ih, weight_hh, bias_ih, bias_hh, weight_hr of each layer and direction."""
    plain = 4 if has_biases else 2
    if len(params) not in (count * plain, count * (plain + 1)):
        raise RuntimeError(
            f"{name}(): expected {plain} parameters, or {plain + 1} with a projection, for each of "
            f"{count} layers and directions, got {len(params)}"
        )
    size = len(params) // count
    groups = []
    for index in range(count):
        own = list(params[index * size : (index + 1) * size])
        biases = own[2:4] if has_biases else [None, None]
        groups.append([*own[:2], *biases, own[-1] if size > plain else None])
    return groups


def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """LSTM layers over sequences: output, and the last hidden state and cell.

    Takes (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    or, of packed sequences, (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional); shapes as of `nn.LSTM`, whose weights `params` lists, layer by layer.

    Example:
        >>> layer = flambeau.nn.LSTM(3, 4)
        >>> x, state = flambeau.randn(5, 2, 3), (flambeau.zeros(1, 2, 4), flambeau.zeros(1, 2, 4))
        >>> weights = list(layer.parameters())
        >>> output, h, c = flambeau.lstm(x, state, weights, True, 1, 0.0, False, False, False)
        >>> output.shape, flambeau.equal(output, layer(x)[0]), flambeau.equal(output[-1:], h)
        (flambeau.Size([5, 2, 4]), True, True)
    """
    output, h, c = _run("lstm", "LSTM", args, True)
    return output, h, c


def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """GRU layers over sequences: output and the last state; arguments as of `lstm`.

    Example:
        >>> layer = flambeau.nn.GRU(3, 4)
        >>> x, h = flambeau.randn(5, 2, 3), flambeau.zeros(1, 2, 4)
        >>> weights = list(layer.parameters())
        >>> output, last = flambeau.gru(x, h, weights, True, 1, 0.0, False, False, False)
        >>> output.shape, flambeau.equal(output, layer(x)[0])
        (flambeau.Size([5, 2, 4]), True)
    """
    output, h = _run("gru", "GRU", args, False)
    return output, h


def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """Plain recurrent layers with tanh: output and the last state; arguments as of `lstm`.

    Example:
        >>> w_ih, w_hh = flambeau.tensor([[1.0]]), flambeau.tensor([[0.5]])
        >>> x, h = flambeau.ones(2, 1, 1), flambeau.zeros(1, 1, 1)
        >>> output, last = flambeau.rnn_tanh(x, h, [w_ih, w_hh], False, 1, 0.0, False, False, False)
        >>> output.flatten()  # tanh(1), tanh(1 + tanh(1) / 2)
        tensor([0.7616, 0.8811])
    """
    output, h = _run("rnn_tanh", "RNN_TANH", args, False)
    return output, h


def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """Plain recurrent layers with a rectifier: output, last state; arguments as of `lstm`.

    Example:
        >>> w_ih, w_hh = flambeau.tensor([[1.0]]), flambeau.tensor([[-2.0]])
        >>> x, h = flambeau.ones(2, 1, 1), flambeau.zeros(1, 1, 1)
        >>> output, last = flambeau.rnn_relu(x, h, [w_ih, w_hh], False, 1, 0.0, False, False, False)
        >>> output.flatten()  # the second is max(0, 1 - 2)
        tensor([1., 0.])
    """
    output, h = _run("rnn_relu", "RNN_RELU", args, False)
    return output, h
