"""Layers against NumPy and SciPy, and their gradients against finite differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import signal, special

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import gradcheck
from flambeau.nn import functional as F


@pytest.fixture(autouse=True)
def _seed() -> None:
    flambeau.manual_seed(0)


def values(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def close(tensor: Tensor, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(values(tensor), expected, rtol=tolerance, atol=tolerance)


# --- linear ---


def test_linear() -> None:
    layer = nn.Linear(3, 4)
    x = flambeau.randn(2, 5, 3)
    close(layer(x), values(x) @ values(layer.weight).T + values(layer.bias))
    assert nn.Linear(3, 4, bias=False).bias is None
    assert repr(layer) == "Linear(in_features=3, out_features=4, bias=True)"


def test_bilinear() -> None:
    layer = nn.Bilinear(3, 4, 2)
    a, b = flambeau.randn(5, 3), flambeau.randn(5, 4)
    expected = np.einsum("ni,kij,nj->nk", values(a), values(layer.weight), values(b))
    close(layer(a, b), expected + values(layer.bias))


# --- convolutions ---


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding": 1},
        {"padding": "same", "kernel_size": (3, 2)},
        {"padding": "valid"},
        {"stride": 2, "padding": (1, 2)},
        {"dilation": 2},
        {"bias": False},
    ],
    ids=str,
)
def test_conv2d(options: dict[str, Any]) -> None:
    options = {"kernel_size": 3, **options}
    layer = nn.Conv2d(2, 3, **options)
    x = flambeau.randn(2, 2, 7, 8)
    weight = values(layer.weight)
    spread = np.zeros(
        (3, 2, *((k - 1) * d + 1 for k, d in zip(weight.shape[2:], layer.dilation, strict=True)))
    )
    spread[:, :, :: layer.dilation[0], :: layer.dilation[1]] = weight
    border = layer._border
    padded = np.pad(values(x), [(0, 0), (0, 0), tuple(border[2:]), tuple(border[:2])])
    sums = [
        [sum(signal.correlate(image[c], spread[k, c], "valid") for c in range(2)) for k in range(3)]
        for image in padded
    ]
    expected = np.array(sums)[:, :, :: layer.stride[0], :: layer.stride[1]]
    if layer.bias is not None:
        expected = expected + values(layer.bias)[:, None, None]
    close(layer(x), expected)


def test_grouped_convolution_is_separate_ones() -> None:
    layer = nn.Conv2d(4, 6, 3, groups=2, bias=False)
    x = flambeau.randn(1, 4, 5, 5)
    halves = [F.conv2d(x[:, 2 * g : 2 * g + 2], layer.weight[3 * g : 3 * g + 3]) for g in range(2)]
    close(layer(x), values(flambeau.cat(halves, 1)))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes(mode: str) -> None:
    numpy_mode = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    layer = nn.Conv2d(1, 1, 3, padding=(1, 2), padding_mode=mode)
    x = flambeau.randn(1, 1, 5, 6)
    padded = np.pad(values(x), [(0, 0), (0, 0), (1, 1), (2, 2)], mode=numpy_mode)
    expected = signal.correlate(padded[0, 0], values(layer.weight)[0, 0], "valid")
    close(layer(x), expected[None, None] + values(layer.bias))


def test_conv1d() -> None:
    layer = nn.Conv1d(2, 3, 4, padding=1)
    x = flambeau.randn(2, 2, 9)
    padded = np.pad(values(x), [(0, 0), (0, 0), (1, 1)])
    expected = [
        [
            sum(np.correlate(s[c], values(layer.weight)[k, c], "valid") for c in range(2))
            + values(layer.bias)[k]
            for k in range(3)
        ]
        for s in padded
    ]
    close(layer(x), expected)


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1, "output_padding": 1}], ids=str)
def test_transposed_convolution_is_the_adjoint(options: dict[str, int]) -> None:
    layer = nn.ConvTranspose2d(3, 2, 3, bias=False, **options)
    y = flambeau.randn(1, 3, 4, 5)
    image = layer(y)
    x = flambeau.randn(*image.shape)
    forward = {k: v for k, v in options.items() if k != "output_padding"}
    there = F.conv2d(x, layer.weight, None, **forward)
    assert (there * y).sum().item() == pytest.approx((x * image).sum().item(), rel=1e-4)


def test_output_size_of_transposed_convolution() -> None:
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = flambeau.randn(1, 1, 4, 4)
    assert layer(x, output_size=(10, 9)).shape == (1, 1, 10, 9)
    with pytest.raises(ValueError, match="output_size"):
        layer(x, output_size=(12, 9))


def test_bad_convolutions() -> None:
    with pytest.raises(ValueError, match="groups"):
        nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="same"):
        nn.Conv2d(1, 1, 3, padding="same", stride=2)
    with pytest.raises(ValueError, match="padding_mode"):
        nn.Conv2d(1, 1, 3, padding_mode="nosuch")
    with pytest.raises(ValueError, match="kernel_size"):
        nn.Conv2d(1, 1, (3, 3, 3))
    with pytest.raises(RuntimeError):
        nn.Conv2d(2, 1, 3)(flambeau.randn(1, 3, 5, 5))


# --- pooling ---


def _windows(x: np.ndarray, size: int, stride: int) -> np.ndarray:
    view = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    return view[:, :, ::stride, ::stride]


def test_pooling() -> None:
    x = flambeau.randn(2, 3, 7, 8)
    close(nn.MaxPool2d(3, 2)(x), _windows(values(x), 3, 2).max((-1, -2)))
    close(nn.AvgPool2d(2)(x), _windows(values(x), 2, 2).mean((-1, -2)))
    padded = np.pad(values(x), [(0, 0), (0, 0), (1, 1), (1, 1)])
    close(nn.AvgPool2d(3, 1, 1)(x), _windows(padded, 3, 1).mean((-1, -2)))
    line = x[:, :, 0]
    close(nn.MaxPool1d(2)(line), values(line).reshape(2, 3, 4, 2).max(-1))
    close(nn.AvgPool1d(2)(line), values(line).reshape(2, 3, 4, 2).mean(-1))


def test_positions_of_maxima() -> None:
    x = flambeau.randn(2, 3, 6, 8)
    largest, where = nn.MaxPool2d(2, return_indices=True)(x)
    flat = values(x).reshape(2, 3, -1)
    found = np.take_along_axis(flat, where.numpy().reshape(2, 3, -1), -1)
    close(largest, found.reshape(largest.shape))
    line, place = nn.MaxPool1d(2, return_indices=True)(x[:, :, 0])
    np.testing.assert_array_equal(np.take_along_axis(values(x)[:, :, 0], place.numpy(), -1), line)


def test_adaptive_pooling() -> None:
    x = flambeau.randn(2, 3, 6, 8)
    close(nn.AdaptiveAvgPool2d(1)(x), values(x).mean((2, 3), keepdims=True))
    close(nn.AdaptiveAvgPool2d((None, 4))(x), values(x).reshape(2, 3, 6, 4, 2).mean(-1))
    close(nn.AdaptiveMaxPool2d((3, 8))(x), values(x).reshape(2, 3, 3, 2, 8).max(3))
    close(nn.AdaptiveAvgPool1d(3)(x[:, :, :, 0]), values(x)[..., 0].reshape(2, 3, 3, 2).mean(-1))


# --- normalization ---


def normalized(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (nn.BatchNorm1d, (8, 3)),
        (nn.BatchNorm1d, (4, 3, 5)),
        (nn.BatchNorm2d, (4, 3, 5, 6)),
        (nn.BatchNorm3d, (2, 3, 2, 3, 4)),
    ],
)
def test_batch_norm(kind: Any, shape: tuple[int, ...]) -> None:
    layer = kind(3)
    with flambeau.no_grad():
        layer.weight.uniform_(0.5, 2)
        layer.bias.uniform_(-1, 1)
    x = flambeau.randn(*shape) * 2 + 1
    axes = (0, *range(2, len(shape)))
    per_channel = [1, 3, *[1] * (len(shape) - 2)]
    weight, bias = (values(p).reshape(per_channel) for p in (layer.weight, layer.bias))
    close(layer(x), normalized(values(x), axes) * weight + bias, 1e-4)
    close(layer.running_mean, 0.1 * values(x).mean(axes), 1e-4)
    close(layer.running_var, 0.9 + 0.1 * values(x).var(axes, ddof=1), 1e-4)
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    mean, variance = (
        values(b).reshape(per_channel) for b in (layer.running_mean, layer.running_var)
    )
    close(layer(x), (values(x) - mean) / np.sqrt(variance + 1e-5) * weight + bias, 1e-4)
    assert layer.num_batches_tracked.item() == 1


def test_batch_norm_of_plain_averages() -> None:
    layer = nn.BatchNorm1d(2, momentum=None, affine=False)
    batches = [flambeau.randn(6, 2) for _ in range(3)]
    for batch in batches:
        layer(batch)
    close(layer.running_mean, np.mean([values(b).mean(0) for b in batches], 0))
    assert nn.BatchNorm1d(2, track_running_stats=False).running_mean is None
    with pytest.raises(ValueError, match="dimensions"):
        nn.BatchNorm2d(3)(flambeau.randn(2, 3))


def test_batch_norm_divides_by_something() -> None:
    x = flambeau.randn(4, 2)
    for eps in (0.0, -1.0):
        for untracked in (False, True):
            layer = nn.BatchNorm1d(2, eps=eps, track_running_stats=not untracked)
            with pytest.raises(ValueError, match=f"BatchNorm1d: eps must be positive.*{eps}"):
                layer.train(not untracked)(x)
            assert untracked or layer.num_batches_tracked.item() == 0
    with pytest.raises(ValueError, match=r"eps must be at least 0, got -1\.0"):
        nn.BatchNorm1d(2, eps=-1.0).eval()(x)
    # New running statistics are mean 0 and variance 1.
    close(nn.BatchNorm1d(2, eps=0.0).eval()(x), values(x))


def test_other_norms() -> None:
    x = flambeau.randn(4, 6, 5, 3) * 3 + 1
    close(nn.LayerNorm([5, 3])(x), normalized(values(x), (2, 3)), 1e-4)
    close(nn.InstanceNorm2d(6)(x), normalized(values(x), (2, 3)), 1e-4)
    grouped = normalized(values(x).reshape(4, 2, -1), (2,)).reshape(x.shape)
    close(nn.GroupNorm(2, 6)(x), grouped, 1e-4)
    mean_square = (values(x) ** 2).mean(-1, keepdims=True)
    close(nn.RMSNorm(3, eps=0.1)(x), values(x) / np.sqrt(mean_square + 0.1), 1e-4)
    assert nn.LayerNorm(3, bias=False).bias is None
    with pytest.raises(ValueError, match="groups"):
        nn.GroupNorm(4, 6)


def test_embedding_limits_rows_in_place() -> None:
    """Rows that are looked up, out of sight of autograd; the others stay."""
    weight = flambeau.tensor([[3.0, 4.0], [6.0, 8.0], [0.3, 0.4]]).requires_grad_()
    rows = F.embedding(flambeau.tensor([0, 2, 0]), weight, max_norm=1.0)
    np.testing.assert_allclose(weight.tolist(), [[0.6, 0.8], [6, 8], [0.3, 0.4]], rtol=1e-6)
    np.testing.assert_allclose(rows.tolist(), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], rtol=1e-6)
    rows.sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [[2, 2], [0, 0], [1, 1]]


def test_instance_norm_statistics() -> None:
    layer = nn.InstanceNorm1d(2, affine=True, track_running_stats=True)
    x = flambeau.randn(3, 2, 9)
    layer(x)
    close(layer.running_mean, 0.1 * values(x).mean((0, 2)), 1e-4)
    close(layer.running_var, 0.9 + 0.1 * values(x).var(2, ddof=1).mean(0), 1e-4)
    single = nn.InstanceNorm1d(2)
    close(single(x[0]), values(single(x))[0], 1e-4)


# --- activations ---

X = np.linspace(-4, 4, 41)
ACTIVATIONS: list[tuple[Any, Any]] = [
    (nn.ReLU(), np.maximum(X, 0)),
    (nn.ReLU6(), np.clip(X, 0, 6)),
    (nn.LeakyReLU(0.2), np.where(X > 0, X, 0.2 * X)),
    (nn.ELU(0.5), np.where(X > 0, X, 0.5 * np.expm1(X))),
    (nn.CELU(2.0), np.maximum(X, 0) + np.minimum(0, 2 * np.expm1(X / 2))),
    (
        nn.SELU(),
        1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X)),
    ),
    (nn.GELU(), X * special.ndtr(X)),
    (
        nn.GELU("tanh"),
        X / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))),
    ),
    (nn.SiLU(), X * special.expit(X)),
    (nn.Mish(), X * np.tanh(np.logaddexp(X, 0))),
    (nn.Sigmoid(), special.expit(X)),
    (nn.Tanh(), np.tanh(X)),
    (nn.LogSigmoid(), special.log_expit(X)),
    (nn.Softplus(2.0), np.logaddexp(2 * X, 0) / 2),
    (nn.Softsign(), X / (1 + abs(X))),
    (nn.Tanhshrink(), X - np.tanh(X)),
    (nn.Softshrink(0.7), np.sign(X) * np.maximum(abs(X) - 0.7, 0)),
    (nn.Hardshrink(0.7), np.where(abs(X) > 0.7, X, 0)),
    (nn.Hardtanh(-1, 2), np.clip(X, -1, 2)),
    (nn.Hardsigmoid(), np.clip(X + 3, 0, 6) / 6),
    (nn.Hardswish(), X * np.clip(X + 3, 0, 6) / 6),
    (nn.Threshold(0.5, -7), np.where(X > 0.5, X, -7)),
    (nn.PReLU(), np.where(X > 0, X, 0.25 * X)),
    (nn.RReLU().eval(), np.where(X > 0, X, (1 / 8 + 1 / 3) / 2 * X)),
]


@pytest.mark.parametrize(("layer", "expected"), ACTIVATIONS, ids=lambda a: type(a).__name__)
def test_activation(layer: Any, expected: np.ndarray) -> None:
    x = flambeau.tensor(X, dtype=flambeau.float64)
    layer = layer.double()
    close(layer(x), expected, 1e-12)
    if hasattr(layer, "inplace"):
        layer.inplace = True
        copy = x.clone()
        close(layer(copy), expected, 1e-12)
        close(copy, expected, 1e-12)
        layer.inplace = False
    assert repr(layer).startswith(type(layer).__name__)


def test_softmax_family() -> None:
    x = flambeau.randn(3, 4, 5)
    close(nn.Softmax(1)(x), special.softmax(values(x), 1))
    close(nn.LogSoftmax(-1)(x), special.log_softmax(values(x), -1))
    close(nn.Softmin(0)(x), special.softmax(-values(x), 0))
    close(nn.Softmax2d()(x), special.softmax(values(x), 0))
    close(nn.GLU(1)(x), values(x)[:, :2] * special.expit(values(x)[:, 2:]))
    with pytest.warns(UserWarning, match=r"softmax\(\): dim is not given.*write dim=0"):
        close(nn.Softmax()(x), special.softmax(values(x), 0))


def test_gumbel_softmax() -> None:
    logits = flambeau.tensor([0.0, math.log(3)]).expand(4000, 2)
    hard = F.gumbel_softmax(logits, hard=True)
    assert set(np.unique(values(hard))) <= {0, 1}
    assert values(hard)[:, 1].mean() == pytest.approx(0.75, abs=0.03)
    close(F.gumbel_softmax(logits, tau=0.5).sum(1), np.ones(4000))


# --- dropout ---


@pytest.mark.parametrize("kind", [nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d])
def test_dropout(kind: Any) -> None:
    layer = kind(0.25)
    rank = {"Dropout": 2, "Dropout1d": 3, "Dropout2d": 4, "Dropout3d": 5}[kind.__name__]
    x = flambeau.ones(*[50, 40, 3, 2, 2][:rank])
    result = values(layer(x))
    assert set(np.round(np.unique(result), 5)) == {0.0, np.float32(1.33333)}
    channels = result.reshape(50 * 40, -1)
    assert (channels == channels[:, :1]).all()
    assert (result == 0).mean() == pytest.approx(0.25, abs=0.04)
    assert layer.eval()(x) is x or np.array_equal(values(layer(x)), values(x))
    inplace = kind(0.25, inplace=True)
    inplace(x)
    assert 0 in values(x)
    with pytest.raises(ValueError, match="p"):
        kind(1.5)


def test_dropout_of_everything() -> None:
    assert not values(nn.Dropout(1.0)(flambeau.ones(5))).any()


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    result = values(nn.AlphaDropout(0.3)(flambeau.randn(200, 200)))
    assert result.mean() == pytest.approx(0, abs=0.03)
    assert result.std() == pytest.approx(1, abs=0.03)


# --- tables, shapes, padding ---


def test_embedding() -> None:
    layer = nn.Embedding(5, 3, padding_idx=1)
    assert not values(layer.weight)[1].any()
    index = flambeau.tensor([[0, 1], [4, 1]])
    close(layer(index), values(layer.weight)[index.numpy()])
    layer(index).sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy().sum(1), [3, 0, 0, 0, 3])
    table = flambeau.randn(4, 2)
    frozen = nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad
    close(frozen(flambeau.tensor(2)), values(table)[2])
    limited = nn.Embedding(4, 3, max_norm=1.0)
    with flambeau.no_grad():
        limited.weight.mul_(100)
    assert np.linalg.norm(values(limited(flambeau.tensor([2]))), axis=1) == pytest.approx(
        1, rel=1e-4
    )
    with pytest.raises(IndexError):
        layer(flambeau.tensor([5]))


def test_shapes() -> None:
    x = flambeau.randn(2, 8, 3, 4)
    assert nn.Flatten()(x).shape == (2, 96)
    assert nn.Unflatten(1, (2, 4))(x).shape == (2, 2, 4, 3, 4)
    up = nn.PixelShuffle(2)(x)
    assert up.shape == (2, 2, 6, 8)
    assert up[1, 1, 2, 5].item() == x[1, 4 + 1, 1, 2].item()
    close(nn.PixelUnshuffle(2)(up), values(x))
    shuffled = nn.ChannelShuffle(2)(x)
    close(shuffled[:, 1], values(x)[:, 4])
    assert nn.Identity(3, anything=True)(x) is x


@pytest.mark.parametrize(
    ("mode", "numpy_mode"),
    [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")],
)
def test_pad(mode: str, numpy_mode: str) -> None:
    x = flambeau.randn(2, 3, 4, 5)
    expected = np.pad(values(x), [(0, 0), (0, 0), (2, 1), (3, 0)], mode=numpy_mode)
    close(F.pad(x, (3, 0, 2, 1), mode), expected)


def test_pad_with_a_value_and_cuts() -> None:
    x = flambeau.randn(3, 4)
    expected = np.pad(values(x)[1:, :-1], [(0, 2), (1, 0)], constant_values=7)
    close(F.pad(x, (1, -1, -1, 2), value=7.0), expected)
    close(nn.ConstantPad1d((1, 0), 2.0)(x), np.pad(values(x), [(0, 0), (1, 0)], constant_values=2))
    with pytest.raises(RuntimeError, match="even"):
        F.pad(x, (1, 2, 3))
    with pytest.raises(RuntimeError, match="reflect"):
        F.pad(x, (4, 0), "reflect")


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_circular_padding_of_pixels(rank: int) -> None:
    layer = getattr(nn, f"CircularPad{rank}d")(1)
    for dims in range(1, 7):
        x = flambeau.randn([2] * dims)
        if dims in (rank + 1, rank + 2):
            amounts = [(0, 0)] * (dims - rank) + [(1, 1)] * rank
            close(layer(x), np.pad(values(x), amounts, mode="wrap"))
        else:
            with pytest.raises(ValueError, match=f"expected {rank + 1} or {rank + 2} dimensions"):
                layer(x)


def test_distances() -> None:
    a, b = flambeau.randn(4, 5), flambeau.randn(4, 5)
    x, y = values(a), values(b)
    lengths = np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1)
    close(nn.CosineSimilarity()(a, b), (x * y).sum(1) / lengths[0] / lengths[1])
    close(nn.PairwiseDistance()(a, b), np.linalg.norm(x - y + 1e-6, axis=1))
    close(F.normalize(a), x / lengths[0][:, None])
    close(F.normalize(a, p=1, dim=0), x / abs(x).sum(0))


# --- attention ---


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return special.softmax(scores, -1) @ v


def test_scaled_dot_product_attention() -> None:
    q, k, v = flambeau.randn(2, 3, 4, 5), flambeau.randn(2, 3, 6, 5), flambeau.randn(2, 3, 6, 7)
    f = F.scaled_dot_product_attention
    close(f(q, k, v), attention(values(q), values(k), values(v)))
    mask = flambeau.rand(4, 6) > 0.4
    mask[:, 0] = True
    close(f(q, k, v, mask), attention(values(q), values(k), values(v), mask.numpy()))
    causal = np.tril(np.ones((4, 6), bool))
    close(f(q, k, v, is_causal=True), attention(values(q), values(k), values(v), causal))
    bias = flambeau.zeros(4, 6).masked_fill(~mask, -math.inf)
    close(f(q, k, v, bias), values(f(q, k, v, mask)))
    nothing = flambeau.zeros(4, 6, dtype=flambeau.bool)
    assert not values(f(q, k, v, nothing)).any()
    with pytest.raises(RuntimeError, match="not both"):
        f(q, k, v, mask, is_causal=True)


@pytest.mark.parametrize("batch_first", [False, True])
def test_multi_head_attention(batch_first: bool) -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first)
    x = flambeau.randn(3, 5, 8)  # (N, L, E)
    given = x if batch_first else x.transpose(0, 1)
    output, weights = layer(given, given, given)
    projected = values(x) @ values(layer.in_proj_weight).T + values(layer.in_proj_bias)
    q, k, v = (
        part.reshape(3, 5, 2, 4).transpose(0, 2, 1, 3) for part in np.split(projected, 3, axis=-1)
    )
    mixed = attention(q, k, v).transpose(0, 2, 1, 3).reshape(3, 5, 8)
    expected = mixed @ values(layer.out_proj.weight).T + values(layer.out_proj.bias)
    close(output if batch_first else output.transpose(0, 1), expected)
    close(weights.sum(-1), np.ones((3, 5)))
    fast, none = layer(given, given, given, need_weights=False)
    assert none is None
    close(fast, values(output))


def test_masks_of_multi_head_attention() -> None:
    layer = nn.MultiheadAttention(4, 2, batch_first=True, kdim=3, vdim=6)
    q, k, v = flambeau.randn(2, 3, 4), flambeau.randn(2, 5, 3), flambeau.randn(2, 5, 6)
    padding = flambeau.tensor([[False] * 5, [False, False, True, True, True]])
    _, weights = layer(q, k, v, key_padding_mask=padding, average_attn_weights=False)
    assert weights.shape == (2, 2, 3, 5)
    assert not values(weights)[1, :, :, 2:].any()
    forbidden = flambeau.ones(3, 5, dtype=flambeau.bool).triu(1)
    _, weights = layer(q, k, v, attn_mask=forbidden, key_padding_mask=padding)
    assert not values(weights)[:, np.triu(np.ones((3, 5), bool), 1)].any()
    single, _ = layer(q[0], k[0], v[0])
    close(single, values(layer(q, k, v)[0])[0])
    extra = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)
    t = flambeau.randn(5, 2, 4)
    assert extra(t, t, t)[1].shape == (2, 5, 7)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_encoder_layer(norm_first: bool) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=norm_first)
    x = flambeau.randn(2, 5, 8)
    if norm_first:
        y = x + layer.self_attn(*[layer.norm1(x)] * 3)[0]
        z = layer.norm2(y)
        expected = y + layer.linear2(layer.linear1(z).relu())
    else:
        y = layer.norm1(x + layer.self_attn(x, x, x)[0])
        expected = layer.norm2(y + layer.linear2(layer.linear1(y).relu()))
    close(layer(x), values(expected))
    stack = nn.TransformerEncoder(layer, 3, nn.LayerNorm(8))
    assert len(list(stack.parameters())) == 3 * 12 + 2
    assert stack(x).shape == x.shape


def test_causal_mask_hides_the_future() -> None:
    model = nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True).eval()
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    source, target = flambeau.randn(1, 3, 8), flambeau.randn(1, 4, 8)
    before = values(model(source, target, tgt_mask=mask))
    changed = target.clone()
    changed[:, 3] = 5.0
    after = values(model(source, changed, tgt_mask=mask))
    np.testing.assert_allclose(before[:, :3], after[:, :3], atol=1e-5)
    assert not np.allclose(before[:, 3], after[:, 3])


# --- gradients ---

LAYERS: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: nn.Linear(3, 2), (4, 3)),
    (lambda: nn.Conv2d(2, 2, 2, padding=1), (1, 2, 3, 3)),
    (lambda: nn.Conv1d(1, 2, 2), (1, 1, 4)),
    (lambda: nn.ConvTranspose2d(2, 1, 2, stride=2), (1, 2, 2, 2)),
    (lambda: nn.MaxPool2d(2), (1, 1, 4, 4)),
    (lambda: nn.AvgPool2d(2), (1, 1, 4, 4)),
    (lambda: nn.BatchNorm1d(2, track_running_stats=False), (4, 2)),
    (lambda: nn.LayerNorm(3), (2, 3)),
    (lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
    (lambda: nn.InstanceNorm1d(2), (1, 2, 4)),
    (lambda: nn.RMSNorm(3), (2, 3)),
    (lambda: nn.ReflectionPad1d(1), (1, 1, 3)),
    (lambda: nn.ZeroPad2d(1), (1, 1, 2, 2)),
    (lambda: nn.TransformerEncoderLayer(4, 2, 5, 0.0), (2, 1, 4)),
]


@pytest.mark.parametrize(("make", "shape"), LAYERS)
def test_gradients(make: Any, shape: tuple[int, ...]) -> None:
    layer = make().double()
    x = flambeau.randn(*shape, dtype=flambeau.float64, requires_grad=True)
    parameters = list(layer.parameters())

    def function(x: Tensor, *_: Tensor) -> Tensor:
        return layer(x)

    assert gradcheck(function, (x, *parameters))
