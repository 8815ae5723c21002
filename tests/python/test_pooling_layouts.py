"""Pooling, padding and flips give the same numbers whatever the order of elements in memory, and
results of channels-last images are channels-last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F

Call = Callable[[Tensor], Tensor]
RANDOM = np.random.default_rng(7)


def by_channels(tensor: Tensor) -> Tensor:
    last = tensor.dim() - 1
    turned = tensor.permute(0, *range(2, last + 1), 1).contiguous()
    return turned.permute(0, last, *range(1, last))


def images(shape: tuple[int, ...], kind: str, dtype: flambeau.dtype) -> Tensor:
    values = RANDOM.standard_normal(shape)
    if kind == "ties":
        values = np.round(values)
    elif kind == "extreme":
        values[RANDOM.random(shape) < 0.3] = -np.inf
        values[RANDOM.random(shape) < 0.1] = np.nan
    return flambeau.from_numpy(values).to(dtype)


IMAGES: dict[str, Call] = {
    "largest": lambda x: F.max_pool2d(x, 3, 2, 1),
    "places": lambda x: F.max_pool2d(x, (2, 3), return_indices=True)[1],
    "apart": lambda x: F.max_pool2d(x, 2, 1, dilation=2, ceil_mode=True),
    "means": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "parts": lambda x: F.adaptive_max_pool2d(x, (3, 2)),
    "one": lambda x: F.adaptive_avg_pool2d(x, 1),
    "frame": lambda x: F.pad(x, (1, -2, 0, 3), value=2.5),
    "narrow": lambda x: F.pad(x, (-3, -3)),
    "mirrored": lambda x: F.pad(x, (2, 1, 1, 2), mode="reflect"),
    "border": lambda x: F.pad(x, (2, -1, -1, 2), mode="replicate"),
    "around": lambda x: F.pad(x, (2, -1, -1, 2), mode="circular"),
    "flipped": lambda x: x.flip(-1, 1),
    "rolled": lambda x: x.roll((1, 2), (2, 3)),
    "rolled_flat": lambda x: x.roll(5),
}
VOLUMES: dict[str, Call] = {
    "largest": lambda x: F.max_pool3d(x, 3, 2, 1),
    "places": lambda x: F.max_pool3d(x, (2, 1, 2), return_indices=True)[1],
    "means": lambda x: F.avg_pool3d(x, (2, 3, 2), 1, 1, ceil_mode=True),
    "parts": lambda x: F.adaptive_max_pool3d(x, (3, 2, 4), return_indices=True)[1],
    "one": lambda x: F.adaptive_avg_pool3d(x, (1, 1, 2)),
    "border": lambda x: F.pad(x, (1, 0, 2, 1, 0, 1), mode="replicate"),
}


def check(call: Call, rows: Tensor) -> None:
    expected, seed = call(rows), None
    for other in (by_channels(rows), rows.mT.contiguous().mT, flambeau.stack([rows, rows])[1]):
        found = call(other)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)
        if not expected.dtype.is_floating_point:
            continue
        gradients = []
        for given in (rows, other):
            leaf = given.detach().requires_grad_()
            result = call(leaf)
            seed = flambeau.arange(result.numel()).reshape(result.shape).to(result.dtype) % 7
            gradients += flambeau.autograd.grad(result, leaf, seed)
        np.testing.assert_allclose(gradients[1].numpy(), gradients[0].numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 3, 4, 21, 70])
@pytest.mark.parametrize("kind", ["usual", "ties", "extreme"])
@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str, kind: str, channels: int) -> None:
    for dtype in (flambeau.float32, flambeau.float64):
        check(IMAGES[name], images((2, channels, 9, 7), kind, dtype))


@pytest.mark.parametrize("channels", [1, 5, 33])
@pytest.mark.parametrize("kind", ["usual", "ties", "extreme"])
@pytest.mark.parametrize("name", VOLUMES)
def test_volumes(name: str, kind: str, channels: int) -> None:
    check(VOLUMES[name], images((2, channels, 5, 6, 7), kind, flambeau.float32))


@pytest.mark.parametrize("name", [n for n in IMAGES if n not in ("rolled_flat", "around")])
def test_channels_last_stays(name: str) -> None:
    result = IMAGES[name](by_channels(images((2, 8, 9, 7), "usual", flambeau.float32)))
    assert result.is_contiguous(memory_format=flambeau.channels_last)


def test_volumes_of_one_scan() -> None:
    """Of equals the first place in a volume counts, of NaN the last."""
    x = flambeau.zeros(1, 1, 3, 3, 3)
    assert F.max_pool3d(x, 3, return_indices=True)[1].item() == 0
    x[0, 0, 1, 2, 0] = x[0, 0, 2, 0, 1] = float("nan")
    assert F.max_pool3d(x, 3, return_indices=True)[1].item() == 19


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex128"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 8, 16, 17, 33, 64, 100])
def test_short_rows_are_flipped(columns: int, dtype: str) -> None:
    values = RANDOM.integers(0, 100, (3, 4, columns)).astype(dtype)
    for dims in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
        found = flambeau.from_numpy(values).flip(*dims)
        np.testing.assert_array_equal(found.numpy(), np.flip(values, dims))
