"""The largest elements of windows are the same whether or not a derivative will ask where they
stood: calls without gradients leave the places out."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.autograd import forward_ad
from flambeau.nn import functional

RANDOM = np.random.default_rng(0)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.5, 1.5, -2.5])


def windows_of(x: np.ndarray, kernel: int, stride: int, padding: int, dilation: int) -> np.ndarray:
    """By NumPy, of the last dim."""
    ends = [(0, 0)] * (x.ndim - 1) + [(padding, padding)]
    padded = np.pad(x, ends, constant_values=-np.inf)
    reach = dilation * (kernel - 1) + 1
    shown = np.lib.stride_tricks.sliding_window_view(padded, reach, -1)[..., ::stride, ::dilation]
    return shown.max(-1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [5, 17, 67, 1200])
@pytest.mark.parametrize("window", [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), (5, 3, 2, 1)])
def test_windows_of_signals(length: int, window: tuple[int, int, int, int], dtype: str) -> None:
    x = RANDOM.choice(SPECIAL, (3, length)).astype(dtype)
    kernel, stride, padding, dilation = window
    if length < dilation * (kernel - 1) + 1:
        return
    expected = windows_of(x, kernel, stride, padding, dilation)
    given = flambeau.tensor(x[None])
    for signal in (given, given.mT.contiguous().mT):
        found = functional.max_pool1d(signal, kernel, stride, padding, dilation)
        np.testing.assert_array_equal(found.numpy()[0], expected)


@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (2, 3, 7, 9), (1, 40, 14, 14), (2, 0, 6, 6)])
@pytest.mark.parametrize("by_channels", [False, True])
def test_places_change_nothing(shape: tuple[int, ...], by_channels: bool) -> None:
    x = flambeau.tensor(RANDOM.choice(SPECIAL, shape))
    if by_channels:
        x = x.to(memory_format=flambeau.channels_last)
    leaf = x.clone().requires_grad_()
    for pool in (
        lambda t: functional.max_pool2d(t, 2),
        lambda t: functional.max_pool2d(t, 3, 2, 1, ceil_mode=True),
        lambda t: functional.max_pool2d(t, (1, 3), 1, (0, 1), (1, 2)),
        lambda t: functional.adaptive_max_pool2d(t, (2, 3)),
        lambda t: functional.adaptive_max_pool2d(t, (1, 1)),
    ):
        np.testing.assert_array_equal(pool(x).numpy(), pool(leaf).detach().numpy())


def test_integers() -> None:
    x = RANDOM.integers(-9, 9, (2, 3, 40), dtype=np.int64)
    found = functional.max_pool1d(flambeau.tensor(x), 3, 2)
    expected = np.lib.stride_tricks.sliding_window_view(x, 3, -1)[..., ::2, :].max(-1)
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("length", [21, 67, 500])
@pytest.mark.parametrize("nan_at", [None, 0, 20])
def test_large_windows_of_different_sizes(length: int, nan_at: int | None) -> None:
    x = RANDOM.standard_normal((2, length)).astype("float32")
    if nan_at is not None:
        x[0, nan_at] = np.nan
    found = functional.adaptive_max_pool1d(flambeau.tensor(x), 3).numpy()
    for i in range(3):
        begin, end = i * length // 3, -(-(i + 1) * length // 3)
        np.testing.assert_array_equal(found[:, i], x[:, begin:end].max(-1))


def test_forward_mode_reads_places() -> None:
    x = flambeau.tensor([[[1.0, 3.0, 2.0, 0.0]]])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, flambeau.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
        with flambeau.no_grad():
            result = functional.max_pool1d(dual, 2)
        assert forward_ad.unpack_dual(result).tangent.tolist() == [[[2.0, 3.0]]]


def test_gradients_read_places() -> None:
    x = flambeau.tensor([[[1.0, 3.0, 2.0, 0.0]]], requires_grad=True)
    functional.adaptive_max_pool1d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[0.0, 1.0, 1.0, 0.0]]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("parts", [1, 3, 31, 32, 40, 700])
def test_windows_that_divide_a_signal(parts: int, dtype: str) -> None:
    """Of a few columns and of many; the first of equals is found, the last NaN."""
    for width in (1, 2, 5, 9, 16, 17, 33, 100):
        length = parts * width + parts // 2
        x = RANDOM.choice(SPECIAL[1:], (2, length)).astype(dtype)
        x[1, ::7] = np.nan
        found, places = functional.adaptive_max_pool1d(
            flambeau.tensor(x[None]), parts, return_indices=True
        )
        for row in range(2):
            for part in range(parts):
                begin, end = part * length // parts, -(-(part + 1) * length // parts)
                window = x[row, begin:end]
                nans = np.flatnonzero(np.isnan(window))
                place = begin + (nans[-1] if len(nans) else int(np.argmax(window)))
                assert places[0, row, part] == place
                np.testing.assert_equal(found[0, row, part].item(), x[row, place])
