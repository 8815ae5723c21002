"""Operators whose kernels read some layouts as they are: against the same of a dense copy, and
NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.nn import functional as F

Array = Any


def with_channels_last(x: Array) -> flambeau.Tensor:
    """[n, c, ...] of which the channels lie next to each other."""
    return flambeau.tensor(np.ascontiguousarray(np.moveaxis(x, 1, -1))).movedim(-1, 1)


def numbers(*shape: int, dtype: type = np.float32) -> Array:
    """With ties, NaN and infinities."""
    x = np.random.default_rng(0).integers(-4, 4, shape).astype(dtype)
    x[..., 1] = np.nan
    x[:, 1, 0] = -np.inf
    x[:, 2, :, ...] = np.inf
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("channels", [8, 37, 300])
def test_pooling_of_signals(dtype: type, channels: int) -> None:
    x = numbers(3, channels, 29, dtype=dtype)
    given, dense = with_channels_last(x), flambeau.tensor(x)
    assert not given.is_contiguous()
    for own, other in (
        (
            F.adaptive_max_pool1d(given, 4, return_indices=True),
            F.adaptive_max_pool1d(dense, 4, return_indices=True),
        ),
        (
            F.max_pool1d(given, 3, 5, 1, return_indices=True),
            F.max_pool1d(dense, 3, 5, 1, return_indices=True),
        ),
        (
            F.max_pool1d(given, 5, 4, 2, dilation=7, return_indices=True),
            F.max_pool1d(dense, 5, 4, 2, dilation=7, return_indices=True),
        ),
        ([F.avg_pool1d(given, 3, 2, 1)], [F.avg_pool1d(dense, 3, 2, 1)]),
        ([F.adaptive_avg_pool1d(given, 5)], [F.adaptive_avg_pool1d(dense, 5)]),
    ):
        for found, wanted in zip(own, other, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)
            assert found.is_contiguous() or found.mT.is_contiguous()
    found = F.adaptive_max_pool1d(given, 1).numpy()
    np.testing.assert_array_equal(found, np.maximum.reduce(x, -1, keepdims=True))


@pytest.mark.parametrize("shape", [(2, 16, 9, 11), (16, 9, 11)])
def test_pooling_of_images(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    dense = flambeau.tensor(x)
    given = flambeau.tensor(np.ascontiguousarray(np.moveaxis(x, -3, -1))).movedim(-1, -3)
    for own, other in (
        (F.max_pool2d(given, 3, 2, 1), F.max_pool2d(dense, 3, 2, 1)),
        (F.avg_pool2d(given, (3, 2), 2, 1), F.avg_pool2d(dense, (3, 2), 2, 1)),
        (F.adaptive_avg_pool2d(given, (4, 3)), F.adaptive_avg_pool2d(dense, (4, 3))),
        (F.adaptive_max_pool2d(given, (4, 3)), F.adaptive_max_pool2d(dense, (4, 3))),
    ):
        np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_a_mean_of_many_pixels() -> None:
    x = np.random.default_rng(2).normal(3, 1, (1, 8, 200_000)).astype(np.float32)
    found = F.adaptive_avg_pool1d(with_channels_last(x), 1).numpy()
    np.testing.assert_allclose(found, x.mean(-1, dtype=float, keepdims=True), rtol=3e-7)


def test_few_slices_of_a_transposed_tensor() -> None:
    x = np.random.default_rng(3).normal(size=(64, 96, 160)).astype(np.float32)
    given = flambeau.tensor(np.ascontiguousarray(x.swapaxes(1, 2))).mT
    for places in ([0, 5, 159, 5], [7]):
        found = given.index_select(2, flambeau.tensor(places)).numpy()
        np.testing.assert_array_equal(found, x[..., places])
    with pytest.raises(IndexError):
        given.index_select(2, flambeau.tensor([160]))
    found = F.interpolate(given, 8).numpy()
    np.testing.assert_array_equal(found, x[..., np.arange(8) * 20])


@pytest.mark.parametrize(("rows", "columns"), [(2, 5), (33, 600), (1446, 723), (5000, 3)])
def test_batch_norm_of_columns(rows: int, columns: int) -> None:
    """Sums of squares far from zero, and of rows in order."""
    x = np.random.default_rng(4).normal(1000, 1, (rows, columns)).astype(np.float32)
    x[: rows // 2] += 5
    mean, variance = x.mean(0, dtype=float), x.var(0, dtype=float)
    running = flambeau.zeros(columns), flambeau.zeros(columns)
    found = F.batch_norm(flambeau.tensor(x), *running, training=True, momentum=1.0, eps=1e-5)
    np.testing.assert_allclose(running[0].numpy(), mean, rtol=3e-7)
    np.testing.assert_allclose(running[1].numpy(), variance * rows / (rows - 1), rtol=3e-4)
    wanted = (x - mean) / np.sqrt(variance + 1e-5)
    np.testing.assert_allclose(found.numpy(), wanted, atol=2e-3)
