"""Recurrent layers against NumPy loops, and against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import forward_ad, gradcheck, gradgradcheck
from flambeau.nn.utils import rnn as sequences

Array = np.ndarray


@pytest.fixture(autouse=True)
def _seed() -> None:
    flambeau.manual_seed(0)


def values(tensor: Tensor) -> Array:
    return tensor.detach().numpy()


def step(kind: str, x: Array, h: Array, c: Array, w: dict[str, Array]) -> tuple[Array, Array]:
    """One step of one sample; weights by the first part of their names."""
    a = w["weight_ih"] @ x + w.get("bias_ih", 0)
    b = w["weight_hh"] @ h + w.get("bias_hh", 0)
    if kind == "RNN":
        return np.tanh(a + b), c
    if kind == "GRU":
        (ar, az, an), (br, bz, bn) = np.split(a, 3), np.split(b, 3)
        r, z = expit(ar + br), expit(az + bz)
        n = np.tanh(an + r * bn)
        return (1 - z) * n + z * h, c
    i, f, g, o = np.split(a + b, 4)
    c = expit(f) * c + expit(i) * np.tanh(g)
    h = expit(o) * np.tanh(c)
    return (w["weight_hr"] @ h if "weight_hr" in w else h), c


def reference(layer: Any, x: Array, h0: Array, c0: Array) -> tuple[Array, Array, Array]:
    """Outputs and last states of a whole layer over (L, N, I)."""
    kind, directions = type(layer).__name__, 2 if layer.bidirectional else 1
    hs, cs = np.array(h0), np.array(c0)
    for k in range(layer.num_layers):
        parts = []
        for d in range(directions):
            suffix = f"_l{k}" + ("_reverse" if d else "")
            weights = {
                name.removesuffix(suffix): values(p)
                for name, p in layer.named_parameters()
                if name.endswith(suffix)
            }
            index = k * directions + d
            out = np.zeros((*x.shape[:2], hs.shape[-1]))
            for n in range(x.shape[1]):
                h, c = h0[index, n], c0[index, n]
                for t in reversed(range(len(x))) if d else range(len(x)):
                    h, c = step(kind, x[t, n], h, c, weights)
                    out[t, n] = h
                hs[index, n], cs[index, n] = h, c
            parts.append(out)
        x = np.concatenate(parts, -1)
    return x, hs, cs


OPTIONS: list[dict[str, Any]] = [
    {},
    {"bias": False},
    {"num_layers": 2},
    {"bidirectional": True},
    {"num_layers": 2, "bidirectional": True},
    {"batch_first": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_against_numpy(kind: Any, options: dict[str, Any]) -> None:
    layer = kind(3, 4, **options)
    x = flambeau.randn(5, 2, 3)
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    h, c = flambeau.randn(count, 2, 4), flambeau.randn(count, 2, 4)
    given = x.transpose(0, 1) if layer.batch_first else x
    lstm = kind is nn.LSTM
    output, state = layer(given, (h, c) if lstm else h)
    expected, hs, cs = reference(layer, values(x), values(h), values(c))
    got = values(output.transpose(0, 1) if layer.batch_first else output)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values(state[0] if lstm else state), hs, rtol=1e-4, atol=1e-5)
    if lstm:
        np.testing.assert_allclose(values(state[1]), cs, rtol=1e-4, atol=1e-5)


def test_projection() -> None:
    layer = nn.LSTM(3, 5, 2, proj_size=2, bidirectional=True)
    x = flambeau.randn(4, 2, 3)
    output, (h, c) = layer(x)
    assert output.shape == (4, 2, 4)
    assert h.shape == (4, 2, 2)
    assert c.shape == (4, 2, 5)
    expected, hs, cs = reference(layer, values(x), np.zeros((4, 2, 2)), np.zeros((4, 2, 5)))
    np.testing.assert_allclose(values(output), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values(c), cs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values(h), hs, rtol=1e-4, atol=1e-5)


def test_relu_and_single_sequences() -> None:
    layer = nn.RNN(3, 4, nonlinearity="relu")
    x = flambeau.randn(5, 3)
    output, h = layer(x)
    assert output.shape == (5, 4)
    assert h.shape == (1, 4)
    assert values(output).min() >= 0
    both, _ = layer(x.unsqueeze(1))
    np.testing.assert_allclose(values(both)[:, 0], values(output), rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "cell"), [(nn.RNN, nn.RNNCell), (nn.GRU, nn.GRUCell), (nn.LSTM, nn.LSTMCell)]
)
def test_cells_step_like_layers(layer: Any, cell: Any) -> None:
    whole, single = layer(3, 4), cell(3, 4)
    single.load_state_dict({k.removesuffix("_l0"): v for k, v in whole.state_dict().items()})
    x = flambeau.randn(5, 2, 3)
    output, _ = whole(x)
    state = None
    for t in range(5):
        state = single(x[t], state)
        h = state[0] if isinstance(state, tuple) else state
        np.testing.assert_allclose(values(h), values(output)[t], rtol=1e-5, atol=1e-6)
    assert repr(single) == f"{cell.__name__}(3, 4)"


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("sort", [False, True])
def test_packed_sequences_are_each_run_alone(kind: Any, sort: bool) -> None:
    layer = kind(3, 4, num_layers=2, bidirectional=True)
    lengths = [5, 3, 1] if sort else [3, 5, 1]
    listed = [flambeau.randn(n, 3) for n in lengths]
    packed = sequences.pack_sequence(listed, enforce_sorted=sort)
    output, state = layer(packed)
    padded, got = sequences.pad_packed_sequence(output)
    assert got.tolist() == lengths
    last = state[0] if isinstance(state, tuple) else state
    for n, sequence in enumerate(listed):
        alone, own = layer(sequence)
        own = own[0] if isinstance(own, tuple) else own
        np.testing.assert_allclose(
            values(padded)[: lengths[n], n], values(alone), rtol=1e-4, atol=1e-6
        )
        np.testing.assert_allclose(values(last)[:, n], values(own), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_gradients(kind: Any) -> None:
    layer = kind(2, 3, bidirectional=True).double()
    x = flambeau.randn(3, 2, 2, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(lambda x, *_: layer(x)[0], (x, *layer.parameters()))


def test_dropout_between_layers() -> None:
    layer = nn.LSTM(3, 4, 2, dropout=1.0)
    x = flambeau.randn(5, 2, 3)
    silent, _ = layer(x)
    blank = nn.LSTM(4, 4)
    blank.load_state_dict(
        {k.replace("_l1", "_l0"): v for k, v in layer.state_dict().items() if "_l1" in k}
    )
    np.testing.assert_allclose(values(silent), values(blank(flambeau.zeros(5, 2, 4))[0]), rtol=1e-5)
    np.testing.assert_array_equal(values(layer.eval()(x)[0]), values(layer(x)[0]))


def test_names_and_order_of_weights() -> None:
    layer = nn.GRU(3, 4, 2, bidirectional=True)
    names = [name for name, _ in layer.named_parameters()]
    assert names[:5] == [
        "weight_ih_l0",
        "weight_hh_l0",
        "bias_ih_l0",
        "bias_hh_l0",
        "weight_ih_l0_reverse",
    ]
    assert len(layer.all_weights) == 4
    assert layer.weight_ih_l1.shape == (12, 8)
    assert repr(layer) == "GRU(3, 4, num_layers=2, bidirectional=True)"


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="nonlinearity"):
        nn.RNN(2, 3, nonlinearity="nosuch")
    with pytest.raises(ValueError, match="dropout"):
        nn.LSTM(2, 3, dropout=1.5)
    with pytest.raises(ValueError, match="proj_size"):
        nn.LSTM(2, 3, proj_size=3)
    with pytest.raises(RuntimeError, match="size 2"):
        nn.LSTM(2, 3)(flambeau.randn(4, 1, 3))
    with pytest.raises(RuntimeError, match="first state"):
        nn.GRU(2, 3)(flambeau.randn(4, 1, 2), flambeau.zeros(1, 2, 3))


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_bad_sizes(kind: Any) -> None:
    for what in ("input_size", "hidden_size", "num_layers"):
        for size in (0, -1):
            with pytest.raises(ValueError, match=f"{kind.__name__}: {what} must be positive"):
                kind(**{"input_size": 2, "hidden_size": 3, what: size})
    for shape in ((2,), (1, 1, 1, 2)):
        with pytest.raises(ValueError, match="2 or 3 dimensions"):
            kind(2, 3)(flambeau.randn(shape))


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_bad_dtype(kind: Any) -> None:
    x = flambeau.randn(4, 1, 2, dtype=flambeau.float64)
    for given in (x, sequences.pack_sequence([x[:, 0]])):
        with pytest.raises(ValueError, match="weights' dtype flambeau.float32, got flambeau.float"):
            kind(2, 3)(given)


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_bad_shapes_of_cells(kind: Any) -> None:
    cell = kind(2, 3)
    for shape in ((), (1, 4, 2)):
        with pytest.raises(ValueError, match="expected an input of shape"):
            cell(flambeau.randn(shape))
    with pytest.raises(RuntimeError, match="expected an input of shape"):
        cell(flambeau.randn(4, 3))
    for shape, error in (((1, 4, 3), ValueError), ((3, 3), RuntimeError), ((3,), RuntimeError)):
        state = flambeau.zeros(shape)
        with pytest.raises(error, match="expected a state of shape"):
            cell(flambeau.randn(4, 2), (state, state) if kind is nn.LSTMCell else state)


def test_padding_sequences() -> None:
    a, b = flambeau.tensor([1.0, 2.0, 3.0]), flambeau.tensor([4.0])
    padded = sequences.pad_sequence([a, b], batch_first=True, padding_value=-1)
    assert padded.tolist() == [[1, 2, 3], [4, -1, -1]]
    left = sequences.pad_sequence([a, b], padding_side="left")
    assert left.tolist() == [[1, 0], [2, 0], [3, 4]]
    packed = sequences.pack_padded_sequence(padded, [3, 1], batch_first=True)
    assert packed.data.tolist() == [1, 4, 2, 3]
    assert packed.batch_sizes.tolist() == [2, 1, 1]
    again, lengths = sequences.pad_packed_sequence(packed, batch_first=True, total_length=4)
    assert again.tolist() == [[1, 2, 3, 0], [4, 0, 0, 0]]
    assert [s.tolist() for s in sequences.unpack_sequence(packed)] == [[1, 2, 3], [4]]
    assert [s.tolist() for s in sequences.unpad_sequence(padded, lengths, True)] == [
        [1, 2, 3],
        [4],
    ]
    with pytest.raises(RuntimeError, match="not increase"):
        sequences.pack_padded_sequence(padded, [1, 3], batch_first=True)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("both", [False, True])
def test_functions_of_listed_weights_are_the_layers(mode: str, both: bool) -> None:
    flambeau.manual_seed(5)
    layer = getattr(nn, mode)(3, 4, num_layers=2, bidirectional=both, batch_first=True)
    function: Any = {"LSTM": flambeau.lstm, "GRU": flambeau.gru, "RNN": flambeau.rnn_tanh}[mode]
    x = flambeau.randn(2, 5, 3)
    zeros = flambeau.zeros(4 if both else 2, 2, 4)
    hx = (zeros, zeros) if mode == "LSTM" else zeros
    params = [p for group in layer.all_weights for p in group]
    output, state = layer(x, hx)
    found = function(x, hx, params, True, 2, 0.0, False, both, True)
    assert flambeau.equal(found[0], output)
    assert all(map(flambeau.equal, found[1:], state if mode == "LSTM" else (state,)))
    packed = nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=True)
    sizes = packed.batch_sizes
    found = function(packed.data, sizes, hx, params, True, 2, 0.0, False, both)
    assert flambeau.equal(found[0], layer(packed, hx)[0].data)


def test_functions_of_listed_weights_count_them() -> None:
    x, h = flambeau.randn(5, 2, 3), flambeau.zeros(1, 2, 4)
    with pytest.raises(RuntimeError, match=r"gru\(\): expected 4 parameters"):
        flambeau.gru(x, h, [h], True, 1, 0.0, False, False, False)
    with pytest.raises(TypeError, match="got 2 arguments"):
        flambeau.gru(x, h)


def test_conversions_of_packed_sequences() -> None:
    packed = sequences.pack_sequence([flambeau.tensor([1.5, 2.5]), flambeau.tensor([3.5])])
    for name, dtype in (
        *(("double", "float64"), ("float", "float32"), ("half", "float16"), ("long", "int64")),
        *(("int", "int32"), ("short", "int16"), ("char", "int8"), ("byte", "uint8")),
    ):
        converted = getattr(packed, name)()
        assert converted.data.dtype is getattr(flambeau, dtype)
        assert converted.batch_sizes is packed.batch_sizes
    assert not packed.cpu().is_cuda


LAYERS: list[tuple[Any, dict[str, Any]]] = [
    (nn.LSTM, {}),
    (nn.GRU, {}),
    (nn.RNN, {}),
    (nn.RNN, {"nonlinearity": "relu"}),
]


def all_of(result: Any) -> tuple[Tensor, ...]:
    """Output and state of a layer, whose output may be packed."""
    output, state = result
    output = output.data if isinstance(output, sequences.PackedSequence) else output
    return (output, *(state if isinstance(state, tuple) else (state,)))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("kind", "options"), LAYERS)
def test_gradients_of_everything(kind: Any, options: dict[str, Any], bias: bool) -> None:
    layer = kind(2, 3, bias=bias, bidirectional=True, **options).double()
    x = flambeau.randn(4, 3, 2, dtype=flambeau.float64, requires_grad=True)
    parts = [
        flambeau.randn(2, 3, 3, dtype=flambeau.float64, requires_grad=True)
        for _ in range(2 if kind is nn.LSTM else 1)
    ]

    def run(x: Tensor, *parts: Tensor) -> tuple[Tensor, ...]:
        return all_of(layer(x, parts[:2] if kind is nn.LSTM else parts[0]))

    assert gradcheck(run, (x, *parts, *layer.parameters()))


@pytest.mark.parametrize(("kind", "options"), LAYERS)
def test_gradients_of_packed_sequences(kind: Any, options: dict[str, Any]) -> None:
    layer = kind(2, 3, num_layers=2, bidirectional=True, **options).double()
    listed = [
        flambeau.randn(n, 2, dtype=flambeau.float64, requires_grad=True) for n in (2, 4, 1, 2)
    ]

    def run(*given: Tensor) -> tuple[Tensor, ...]:
        return all_of(layer(sequences.pack_sequence(given[:4], enforce_sorted=False)))

    assert gradcheck(run, (*listed, *layer.parameters()))


@pytest.mark.parametrize(("kind", "options"), LAYERS)
def test_gradients_of_gradients(kind: Any, options: dict[str, Any]) -> None:
    layer = kind(2, 2, **options).double()
    x = flambeau.randn(3, 2, 2, dtype=flambeau.float64, requires_grad=True)
    assert gradgradcheck(lambda x, *_: all_of(layer(x)), (x, *layer.parameters()))


@pytest.mark.parametrize(("hidden", "samples"), [(37, 19), (270, 12)])
@pytest.mark.parametrize(("kind", "options"), LAYERS)
def test_both_ways_through_a_sequence_agree(
    kind: Any, options: dict[str, Any], hidden: int, samples: int
) -> None:
    """Steps run one by one where a tangent travels along; sizes are no multiples of vectors."""
    layer = kind(5, hidden, **options)
    x, direction = flambeau.randn(6, samples, 5), flambeau.randn(6, samples, 5)
    with forward_ad.dual_level():
        stepped = all_of(layer(forward_ad.make_dual(x, direction)))
        pairs = [forward_ad.unpack_dual(part) for part in stepped]
    x.requires_grad_()
    whole = all_of(layer(x))
    weights = [flambeau.randn(part.shape) for part in whole]
    for part, pair in zip(whole, pairs, strict=True):
        np.testing.assert_allclose(values(part), values(pair.primal), rtol=1e-5, atol=1e-6)
    (grad,) = flambeau.autograd.grad(whole, x, weights)
    along = sum(float((w * p.tangent).sum()) for w, p in zip(weights, pairs, strict=True))
    assert float((grad * direction).sum()) == pytest.approx(along, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(("kind", "options"), LAYERS)
def test_wide_packed_sequences_are_each_run_alone(kind: Any, options: dict[str, Any]) -> None:
    """Threads share the products of few samples; of one alone there is too little work."""
    layer = kind(4, 170, bidirectional=True, **options)
    listed = [flambeau.randn(n, 4) for n in (3, 5, 1, 5, 4, 2, 3)]
    weights = [flambeau.randn(len(x), 340) for x in listed]
    alone = [layer(x)[0] for x in listed]
    total = flambeau.cat(alone), flambeau.cat(weights)
    expected = flambeau.autograd.grad((total[0] * total[1]).sum(), list(layer.parameters()))
    packed = layer(sequences.pack_sequence(listed, enforce_sorted=False))[0]
    padded, lengths = sequences.pad_packed_sequence(packed, batch_first=True)
    found = [row[:n] for row, n in zip(padded, lengths.tolist(), strict=True)]
    for ours, one in zip(found, alone, strict=True):
        np.testing.assert_allclose(values(ours), values(one), rtol=1e-5, atol=1e-6)
    grads = flambeau.autograd.grad((flambeau.cat(found) * total[1]).sum(), list(layer.parameters()))
    for grad, one in zip(grads, expected, strict=True):
        np.testing.assert_allclose(values(grad), values(one), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("samples", "hidden"), [(1, 96), (9, 96), (64, 96), (1, 800), (9, 270), (64, 160)]
)
def test_threads_and_sizes(samples: int, hidden: int, threads: int) -> None:
    before = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(threads)
        layer = nn.LSTM(8, hidden)
        x = flambeau.randn(5, samples, 8)
        output, (h, c) = layer(x)
    finally:
        flambeau.set_num_threads(before)
    zeros = np.zeros((1, samples, hidden))
    expected, hs, cs = reference(layer, values(x), zeros, zeros)
    np.testing.assert_allclose(values(output), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values(h), hs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values(c), cs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kind", "options"), LAYERS)
def test_outputs_may_be_written_over(kind: Any, options: dict[str, Any]) -> None:
    layer, x = kind(2, 3, **options), flambeau.randn(4, 2, 2)
    (expected,) = flambeau.autograd.grad((layer(x)[0] * 2).sum(), layer.weight_hh_l0)
    output = layer(x)[0]
    output.mul_(2)
    (found,) = flambeau.autograd.grad(output.sum(), layer.weight_hh_l0)
    np.testing.assert_allclose(values(found), values(expected), rtol=1e-6)


def test_batches_without_samples() -> None:
    layer = nn.LSTM(2, 3)
    x = flambeau.zeros(4, 0, 2, requires_grad=True)
    output, (h, c) = layer(x)
    assert output.shape == (4, 0, 3)
    assert h.shape == c.shape == (1, 0, 3)
    output.sum().backward()
    assert float(layer.weight_hh_l0.grad.abs().sum()) == 0
