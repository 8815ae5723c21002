"""Batch normalization of matrices, whose statistics are those of stripes of rows put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F


@pytest.mark.parametrize("shape", [(512, 5), (513, 520), (1025, 3), (2600, 1100), (30_000, 2)])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16])
def test_batch_norm_of_many_rows(shape: tuple[int, int], dtype: Any) -> None:
    """The statistics of stripes of rows give those of all, however far the mean is from 0."""
    x = (flambeau.randn(*shape, dtype=flambeau.float64) * 0.5 + 20).to(dtype).requires_grad_()
    seed = flambeau.randn(*shape, dtype=flambeau.float64).to(dtype)
    weight = flambeau.rand(shape[1], dtype=dtype).requires_grad_()
    bias = flambeau.rand(shape[1], dtype=dtype).requires_grad_()
    result = F.batch_norm(x, None, None, weight, bias, training=True)
    found = flambeau.autograd.grad(result, [x, weight, bias], seed)

    def wide(tensor: Tensor) -> np.ndarray:
        return tensor.detach().to(flambeau.float64).numpy()

    scale = 1 / np.sqrt(wide(x).var(0) + 1e-5)
    centered, g = (wide(x) - wide(x).mean(0)) * scale, wide(seed)
    of_weight, of_bias = (g * centered).sum(0), g.sum(0)
    of_x = wide(weight) * scale * (g - g.mean(0) - centered * (g * centered).mean(0))
    precision = {flambeau.float32: 2e-5, flambeau.float64: 1e-12, flambeau.bfloat16: 1e-2}[dtype]
    expected = [centered * wide(weight) + wide(bias), of_x, of_weight, of_bias]
    for one, other in zip([result, *found], expected, strict=True):
        np.testing.assert_allclose(wide(one), other, precision, precision * np.abs(other).max())
