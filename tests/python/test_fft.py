"""Fourier transforms of every kind of length and layout, against NumPy's in double."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import fft

Array = Any
# Powers, products of small primes, primes below and above the largest with a pass of its own, and
# lengths that are split: in two, or as a convolution.
LENGTHS = [
    *range(1, 33),
    *(47, 49, 53, 64, 97, 101, 120, 121, 127, 128, 131, 169, 210, 243, 256, 343, 360, 512, 590),
    *(625, 1000, 1009, 1024, 1180, 2027, 2048, 4096, 4099, 5000, 8192, 8195, 10007, 16384),
    *(65536, 65537),
]
EPSILON = {np.dtype(np.complex64): 6e-8, np.dtype(np.complex128): 1.1e-16}


def signals(dtype: Any, *shape: int) -> Array:
    generator = np.random.default_rng(0)
    parts = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    return parts.astype(dtype)


def check(found: flambeau.Tensor, wanted: Array, dtype: Any) -> None:
    """The error grows with the logarithm of the length: 16 units are enough for all of these."""
    error = np.linalg.norm(found.numpy() - wanted) / max(np.linalg.norm(wanted), 1e-300)
    assert error <= 16 * EPSILON[np.dtype(dtype)]


@pytest.mark.parametrize("dtype", EPSILON, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int, dtype: Any) -> None:
    for lines in (1, 3, 19):
        if lines * n > 100_000:
            continue
        x = signals(dtype, lines, n)
        wide = x.astype(np.complex128)
        check(fft.fft(flambeau.tensor(x)), np.fft.fft(wide), dtype)
        check(fft.ifft(flambeau.tensor(x)), np.fft.ifft(wide), dtype)
        real = flambeau.tensor(x.real.copy())
        check(fft.rfft(real), np.fft.rfft(wide.real), dtype)
        half = flambeau.tensor(x[:, : n // 2 + 1].copy())
        check(fft.irfft(half, n), np.fft.irfft(wide[:, : n // 2 + 1], n), dtype)


@pytest.mark.parametrize("n", [590, 1000, 1024, 1152, 2047, 2500, 4100, 5000, 7680, 8192])
def test_many_long_lines(n: int) -> None:
    """So many that they are transformed side by side, where the cache holds them."""
    x = signals(np.complex64, 131, n)
    wide, given = x.astype(np.complex128), flambeau.tensor(x)
    check(fft.fft(given), np.fft.fft(wide), x.dtype)
    check(fft.rfft(given.real), np.fft.rfft(wide.real), x.dtype)
    half = given[:, : n // 2 + 1]
    check(fft.irfft(half, n), np.fft.irfft(wide[:, : n // 2 + 1], n), x.dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", [4100, 7500, 8192, 9001])
def test_many_long_columns(n: int, dtype: Any) -> None:
    x = signals(dtype, n, 43)
    wide, given = x.astype(np.complex128), flambeau.tensor(x)
    check(fft.fft(given, dim=0), np.fft.fft(wide, axis=0), x.dtype)
    check(fft.ifft(given[:, ::2], dim=0), np.fft.ifft(wide[:, ::2], axis=0), x.dtype)
    check(fft.fftn(given), np.fft.fftn(wide), x.dtype)
    both = flambeau.stack([given, given.flip(1)])
    check(fft.fft(both, dim=1)[1], np.fft.fft(wide[:, ::-1], axis=0), x.dtype)


@pytest.mark.parametrize("n", [6, 60, 64, 53, 320, 384, 512, 1024])
def test_layouts(n: int) -> None:
    x = signals(np.complex128, 5, n, 9)
    wanted = np.fft.fft(x, axis=1)
    given = flambeau.tensor(x)
    check(fft.fft(given, dim=1), wanted, x.dtype)
    check(fft.ifft(given, dim=1), np.fft.ifft(x, axis=1), x.dtype)
    check(fft.fft(given.transpose(1, 2)), np.swapaxes(wanted, 1, 2), x.dtype)
    check(fft.fft(given[:, :, ::2], dim=1), wanted[:, :, ::2], x.dtype)
    check(fft.rfft(given.real, dim=1), np.fft.rfft(x.real, axis=1), x.dtype)
    check(fft.irfft(given[:, : n // 2 + 1], n, dim=1), np.fft.irfft(x, n, axis=1), x.dtype)


def test_long_lines_on_threads() -> None:
    x = signals(np.complex64, 2, 1 << 18)
    given, wanted = flambeau.tensor(x), np.fft.fft(x.astype(np.complex128))
    before = flambeau.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            flambeau.set_num_threads(count)
            results.append(fft.fft(given))
            check(results[-1], wanted, x.dtype)
        assert all(flambeau.equal(r, results[0]) for r in results)
    finally:
        flambeau.set_num_threads(before)


def test_plans_are_made_by_many_threads_at_once() -> None:
    def difference(n: int) -> float:
        x = signals(np.complex128, 2, n)
        return float(np.abs(fft.fft(flambeau.tensor(x)).numpy() - np.fft.fft(x)).max())

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(difference, [*range(1, 200)] * 2)) < 1e-11


def test_nothing_to_transform() -> None:
    assert fft.fft(flambeau.zeros(0, 4)).shape == (0, 4)
    assert fft.rfftn(flambeau.zeros(0, 4)[:, :3], dim=[1]).shape == (0, 2)
    x = flambeau.tensor([1 + 2j, 3.0])
    assert flambeau.equal(fft.fftn(x, dim=[]), x)
    with pytest.raises(RuntimeError, match="number of data points"):
        fft.fft(flambeau.zeros(4, 0))
    with pytest.raises(RuntimeError, match="more than once"):
        fft.fftn(flambeau.zeros(4, 4), dim=[0, 0])


def test_a_signal_comes_back_from_its_short_transforms() -> None:
    x = flambeau.randn(2, 300, dtype=flambeau.float64)
    window = flambeau.hann_window(64, dtype=flambeau.float64)
    pieces = flambeau.stft(x, 64, 16, window=window, return_complex=True)
    assert pieces.shape == (2, 33, 1 + 300 // 16)
    back = flambeau.istft(pieces, 64, 16, window=window, length=300)
    np.testing.assert_allclose(back.numpy()[:, :288], x.numpy()[:, :288], atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 32), (1, 64), (3, 128), (2, 256), (5, 1280), (1, 4096)])
def test_whole_lines(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).standard_normal((*shape, 2)).astype(dtype)
    real, numbers = x[..., 0], x[..., 0] + 1j * x[..., 1]
    close: Any = {"rtol": 0, "atol": (2e-6 if dtype == "float32" else 1e-14) * shape[1]}
    to = flambeau.tensor
    np.testing.assert_allclose(fft.fft(to(numbers)).numpy(), np.fft.fft(numbers), **close)
    np.testing.assert_allclose(fft.ifft(to(numbers)).numpy(), np.fft.ifft(numbers), **close)
    doubled = np.concatenate([real, real[:, ::-1] + 1], -1)
    np.testing.assert_allclose(fft.rfft(to(doubled)).numpy(), np.fft.rfft(doubled), **close)


@pytest.mark.parametrize("shape", [(4, 256, 17), (3, 2, 128, 33), (20, 12, 10), (2, 64, 5, 8)])
def test_parts_of_several_dims(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    close: Any = {"rtol": 0, "atol": 1e-10}
    dims = tuple(range(len(shape) - 2, len(shape)))
    np.testing.assert_allclose(fft.rfft2(flambeau.tensor(x)).numpy(), np.fft.rfft2(x), **close)
    found = fft.ifft2(flambeau.tensor(x + 1j * x[::-1])).numpy()
    np.testing.assert_allclose(found, np.fft.ifftn(x + 1j * x[::-1], axes=dims), **close)
    turned = np.moveaxis(x, 0, -1)
    for layout in (x, turned):
        given = flambeau.tensor(x) if layout is x else flambeau.tensor(x).movedim(0, -1)
        np.testing.assert_allclose(fft.rfftn(given).numpy(), np.fft.rfftn(layout), **close)
        np.testing.assert_allclose(fft.fftn(given + 1j).numpy(), np.fft.fftn(layout + 1j), **close)


def test_lines_do_not_touch_each_other() -> None:
    x = np.ones((4, 256))
    x[1, 7] = np.nan
    assert flambeau.isnan(fft.rfft(flambeau.tensor(x))).any(1).tolist() == [
        False,
        True,
        False,
        False,
    ]
