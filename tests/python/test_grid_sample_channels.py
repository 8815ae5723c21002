"""Many channels, which are turned to lie side by side, against one channel at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.nn import functional

CHANNELS = 11


def _tensor(*sizes: int) -> Any:
    values = np.random.default_rng(len(sizes)).standard_normal(sizes)
    return flambeau.from_numpy(values).requires_grad_()


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("layout", [flambeau.contiguous_format, flambeau.channels_last])
def test_channels_are_sampled_alike(batch: int, mode: str, layout: Any) -> None:
    x, grid = _tensor(batch, CHANNELS, 6, 7), _tensor(batch, 8, 9, 2)
    x = x.detach().contiguous(memory_format=layout).requires_grad_()
    weights = _tensor(batch, CHANNELS, 8, 9).detach()

    def found(images: Any, factors: Any) -> tuple[Any, ...]:
        result = functional.grid_sample(images, grid, mode=mode, align_corners=False)
        return result, *flambeau.autograd.grad((result * factors).sum(), (images, grid))

    result, x_grad, grid_grad = found(x, weights)
    one_by_one = [found(x[:, i : i + 1], weights[:, i : i + 1]) for i in range(CHANNELS)]
    for seen, parts in ((result, 0), (x_grad, 1)):
        expected = np.concatenate([one[parts].detach().numpy() for one in one_by_one], 1)
        np.testing.assert_allclose(seen.detach().numpy(), expected, rtol=1e-12, atol=1e-13)
    total = sum(one[2].numpy() for one in one_by_one)
    np.testing.assert_allclose(grid_grad.numpy(), total, rtol=1e-10, atol=1e-12)
