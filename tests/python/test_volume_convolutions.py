"""Convolutions of volumes whose layers are read where they lie, against sums over windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.nn import functional

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Shape:
    """Volumes [batch, inputs, *size] and filters."""

    batch: int
    inputs: int
    outputs: int
    size: Triple
    kernel: Triple
    stride: Triple = (1, 1, 1)
    padding: Triple = (0, 0, 0)
    dilation: Triple = (1, 1, 1)
    groups: int = 1

    def factors(self) -> tuple[Any, Any, Any]:
        """Volumes, filters, bias of normal numbers."""
        generator = np.random.default_rng(5)
        return (
            generator.standard_normal((self.batch, self.inputs, *self.size)),
            generator.standard_normal((self.outputs, self.inputs // self.groups, *self.kernel)),
            generator.standard_normal(self.outputs),
        )

    def convolved(self, volumes: Any, filters: Any, bias: Any) -> Any:
        """By the definition, in float64."""
        framed = np.pad(volumes, ((0, 0), (0, 0), *((p, p) for p in self.padding)))
        extents = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True)]
        found = np.lib.stride_tricks.sliding_window_view(framed, extents, (2, 3, 4))
        (a, b, c), (p, q, r) = self.stride, self.dilation
        found = found[:, :, ::a, ::b, ::c, ::p, ::q, ::r]
        found = found.reshape(self.batch, self.groups, -1, *found.shape[2:])
        grouped = filters.reshape(self.groups, -1, *filters.shape[1:])
        sums = np.einsum("ngcijkrst,gmcrst->ngmijk", found, grouped, optimize=True)
        return sums.reshape(self.batch, self.outputs, *sums.shape[3:]) + bias[:, None, None, None]

    def call(self, volumes: Any, filters: Any, bias: Any) -> Any:
        """The operator."""
        return functional.conv3d(
            volumes, filters, bias, self.stride, self.padding, self.dilation, self.groups
        )


SHAPES = (
    Shape(2, 3, 16, (6, 11, 24), (2, 3, 2)),
    Shape(1, 4, 13, (5, 9, 40), (3, 3, 3), padding=(1, 1, 1)),
    Shape(2, 6, 30, (4, 8, 33), (3, 3, 3), padding=(0, 1, 2), groups=2),
    Shape(2, 5, 14, (7, 9, 12), (2, 3, 3), stride=(2, 2, 1), padding=(1, 0, 1)),
    Shape(1, 3, 8, (9, 10, 17), (3, 2, 4), stride=(3, 1, 2), dilation=(2, 2, 1), padding=(2, 1, 3)),
    Shape(3, 2, 40, (3, 7, 7), (1, 5, 2)),
    Shape(1, 16, 32, (4, 9, 8), (3, 3, 3), padding=(1, 1, 1)),
    Shape(2, 4, 4, (5, 6, 7), (3, 3, 3), padding=(1, 1, 1), groups=4),
    Shape(2, 2, 5, (3, 4, 6), (3, 2, 1), padding=(1, 1, 3)),
    Shape(1, 2, 14, (3, 2, 3), (2, 1, 2), padding=(0, 0, 5)),
    Shape(1, 2, 15, (1, 1, 1), (3, 3, 3), padding=(1, 1, 1)),
    Shape(1, 4, 6, (3, 4, 5), (1, 1, 1), stride=(2, 1, 2)),
    # Several volumes, of which one layer is left each.
    Shape(3, 3, 24, (2, 3, 38), (2, 1, 2), padding=(0, 1, 1)),
    Shape(4, 2, 48, (3, 4, 4), (3, 2, 1), padding=(0, 1, 0), groups=2),
    Shape(4, 6, 8, (2, 7, 34), (2, 2, 3), padding=(0, 0, 1), groups=2),
)


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_volumes(shape: Shape, dtype: Any) -> None:
    factors = shape.factors()
    seen = shape.call(*(flambeau.tensor(f, dtype=dtype) for f in factors))
    tolerance = 1e-12 if dtype == flambeau.float64 else 2e-5
    expected = shape.convolved(*factors)
    np.testing.assert_allclose(seen.numpy(), expected, tolerance, tolerance * 20)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_volumes_that_are_not_dense(shape: Shape) -> None:
    factors = shape.factors()
    volumes, filters, bias = (flambeau.tensor(f) for f in factors)
    expected = shape.convolved(*factors)
    last = volumes.permute(0, 2, 3, 4, 1).contiguous().permute(0, 4, 1, 2, 3)
    reverse = volumes.transpose(0, 2).contiguous().transpose(0, 2)
    wide = flambeau.cat([volumes, volumes], 4)[..., : shape.size[2]]
    for strided in (last, reverse, wide):
        seen = shape.call(strided, filters.transpose(2, 4).contiguous().transpose(2, 4), bias)
        np.testing.assert_allclose(seen.numpy(), expected, 1e-12, 2e-11)


def test_one_layer_that_stands_for_all() -> None:
    """Strides of 0 are no distance between layers."""
    shape = Shape(2, 3, 16, (4, 6, 20), (2, 3, 3), padding=(0, 1, 1))
    volumes, filters, bias = shape.factors()
    volumes = np.broadcast_to(volumes[:1, :, :1], volumes.shape)
    layer = flambeau.tensor(volumes[:1, :, :1].copy())
    seen = shape.call(layer.expand(*volumes.shape), flambeau.tensor(filters), flambeau.tensor(bias))
    expected = shape.convolved(volumes, filters, bias)
    np.testing.assert_allclose(seen.numpy(), expected, 1e-12, 2e-11)


@pytest.mark.parametrize("shape", SHAPES[:5], ids=str)
def test_gradients(shape: Shape) -> None:
    """Sums of the result are linear in each factor: differences are exact but for rounding."""
    factors = shape.factors()
    leaves = [flambeau.tensor(f, requires_grad=True) for f in factors]
    result = shape.call(*leaves)
    seed = np.random.default_rng(6).standard_normal(tuple(result.shape))
    (result * flambeau.tensor(seed)).sum().backward()
    generator = np.random.default_rng(7)
    for index, leaf in enumerate(leaves):
        direction = generator.standard_normal(tuple(leaf.shape))
        moved = [f + direction if i == index else f for i, f in enumerate(factors)]
        change = shape.convolved(*moved) - shape.convolved(*factors)
        seen = float((leaf.grad.numpy() * direction).sum())
        np.testing.assert_allclose(seen, float((change * seed).sum()), 1e-9, 1e-9)
