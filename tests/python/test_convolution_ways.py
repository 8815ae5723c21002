"""Convolutions of shapes for which there are ways of their own, against sums over windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.nn import functional


@dataclass(frozen=True)
class Shape:
    """Images [batch, inputs, height, width] and filters."""

    batch: int
    inputs: int
    outputs: int
    height: int
    width: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1

    def factors(self) -> tuple[Any, Any]:
        """Images and filters of normal numbers."""
        generator = np.random.default_rng(3)
        images = generator.standard_normal((self.batch, self.inputs, self.height, self.width))
        filters = generator.standard_normal(
            (self.outputs, self.inputs // self.groups, *self.kernel)
        )
        return images, filters

    def windows(self, images: Any) -> Any:
        """[batch, groups, inputs, rows, columns, kernel rows, kernel columns]"""
        (top, left), steps = self.padding, self.stride
        framed = np.pad(images, ((0, 0), (0, 0), (top, top), (left, left)))
        extents = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True)]
        found = np.lib.stride_tricks.sliding_window_view(framed, extents, (2, 3))
        down, across = self.dilation
        found = found[:, :, :: steps[0], :: steps[1], ::down, ::across]
        return found.reshape(self.batch, self.groups, -1, *found.shape[2:])

    def convolved(self, images: Any, filters: Any) -> Any:
        """By the definition, in the precision of its arguments."""
        grouped = filters.reshape(self.groups, -1, *filters.shape[1:])
        result = np.einsum("ngcijrs,gkcrs->ngkij", self.windows(images), grouped)
        return result.reshape(self.batch, self.outputs, *result.shape[3:])

    def call(self, images: Any, filters: Any, bias: Any = None) -> Any:
        """The operator."""
        return functional.conv2d(
            images, filters, bias, self.stride, self.padding, self.dilation, self.groups
        )


PLANES = (
    Shape(2, 3, 3, 9, 70, (3, 3), padding=(1, 1), groups=3),
    Shape(2, 3, 3, 11, 37, (7, 7), padding=(3, 3), groups=3),
    Shape(1, 4, 12, 8, 33, (3, 5), stride=(2, 2), padding=(1, 2), groups=4),
    Shape(2, 2, 2, 5, 56, (3, 3), stride=(2, 2), padding=(1, 1), groups=2),
    Shape(1, 2, 2, 4, 14, (3, 3), stride=(1, 2), padding=(0, 1), groups=2),
    Shape(1, 2, 2, 3, 64, (1, 3), stride=(1, 2), groups=2),
    Shape(1, 2, 2, 3, 3, (3, 2), stride=(2, 2), padding=(1, 1), groups=2),
    Shape(3, 1, 5, 10, 16, (3, 3), dilation=(2, 3), padding=(2, 3)),
    Shape(1, 2, 2, 5, 17, (2, 2), stride=(2, 1), groups=2),
    Shape(1, 2, 2, 1, 1, (3, 3), padding=(1, 1), groups=2),
    Shape(3, 4, 4, 10, 23, (5, 5), stride=(2, 2), padding=(2, 2), groups=4),
    Shape(2, 5, 5, 9, 21, (3, 3), padding=(2, 3), dilation=(2, 3), groups=5),
)
# Rows of several vectors, of every second column, inside borders.
WIDE = (
    Shape(2, 16, 24, 9, 75, (3, 3), stride=(2, 2), padding=(1, 1)),
    Shape(1, 8, 16, 5, 130, (3, 5), stride=(1, 2), padding=(1, 2)),
    Shape(1, 8, 16, 4, 40, (2, 3), stride=(2, 2), padding=(0, 19)),
    Shape(2, 8, 16, 1, 100, (1, 5), padding=(0, 2)),
    Shape(1, 8, 16, 3, 33, (3, 3), stride=(3, 3), padding=(17, 18)),
)
UNFOLDED = (
    Shape(3, 16, 24, 7, 7, (3, 3), padding=(1, 1)),
    Shape(2, 32, 16, 8, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2),
    Shape(5, 16, 16, 1, 1, (1, 1)),
    Shape(1, 64, 8, 10, 10, (5, 5), padding=(2, 2), dilation=(1, 1)),
)
# Few channels and wide rows.
FEW_CHANNELS = (
    Shape(2, 16, 16, 9, 40, (3, 3), padding=(1, 1)),
    Shape(1, 24, 14, 6, 33, (3, 3), padding=(1, 1), dilation=(2, 1)),
    Shape(2, 32, 32, 5, 50, (3, 3), padding=(0, 1), groups=2),
    # Zeros behind a row are those before the next one, or some of these.
    Shape(2, 3, 5, 4, 17, (3, 4), padding=(1, 3)),
    Shape(1, 4, 14, 3, 20, (2, 5), padding=(0, 2)),
    Shape(2, 2, 16, 2, 19, (3, 3), padding=(2, 1), dilation=(2, 1)),
    Shape(3, 2, 1, 1, 7, (1, 4), padding=(0, 3)),
    Shape(2, 3, 5, 3, 4, (2, 1), padding=(1, 3)),
    Shape(1, 2, 14, 4, 3, (1, 2), padding=(0, 9)),
)
# Of these a thread takes some outputs to all images.
MANY_FILTERS = (
    Shape(3, 256, 300, 4, 7, (3, 3), padding=(1, 1)),
    Shape(2, 1600, 270, 7, 7, (1, 1)),
    Shape(2, 512, 512, 5, 6, (3, 3), padding=(1, 0), groups=2),
    Shape(2, 256, 300, 11, 16, (3, 3), stride=(2, 2), padding=(1, 1)),
)
GRADIENTS = (
    Shape(3, 8, 16, 12, 12, (4, 4), stride=(4, 4)),
    Shape(2, 16, 32, 9, 11, (3, 3), stride=(2, 2), padding=(1, 1), groups=2),
    Shape(1, 8, 8, 40, 13, (4, 4), stride=(2, 3), padding=(1, 2), dilation=(2, 1)),
    Shape(3, 64, 32, 5, 7, (1, 1)),
    Shape(4, 12, 10, 4, 4, (4, 4)),
    Shape(1, 8, 8, 7, 9, (2, 2), stride=(3, 3)),
    Shape(2, 8, 16, 9, 12, (1, 1), stride=(2, 3)),
    Shape(2, 8, 16, 9, 11, (1, 1), stride=(2, 1), padding=(1, 0)),
    Shape(2, 24, 80, 3, 5, (1, 1), groups=2),
    Shape(2, 16, 128, 7, 9, (3, 3), stride=(2, 2), padding=(1, 1), groups=2),
)
# What is multiplied in registers that hold matrices: panels, steps and rows that are not full.
MATRICES = (
    Shape(3, 40, 36, 9, 23, (3, 3), padding=(1, 1)),
    Shape(2, 32, 48, 5, 16, (3, 2), padding=(2, 0), dilation=(1, 3), groups=2),
    Shape(2, 64, 16, 30, 30, (3, 3), padding=(1, 1)),  # planes of 4096 bytes
    Shape(1, 17, 33, 11, 9, (5, 5), stride=(2, 3), padding=(2, 1)),
    Shape(2, 128, 32, 7, 40, (1, 3), stride=(1, 2), padding=(0, 1)),
    Shape(3, 64, 96, 7, 7, (1, 1)),
    Shape(2, 16, 24, 9, 11, (2, 2), stride=(3, 3)),
    Shape(1, 16, 16, 150, 130, (3, 3), padding=(1, 1)),  # images in strips
    Shape(1, 16, 16, 12, 60, (6, 6), padding=(2, 3)),  # more taps than a register has rows
    Shape(2, 3, 24, 20, 37, (7, 7), stride=(2, 2), padding=(3, 3)),  # few channels
    Shape(1, 4, 16, 9, 14, (3, 5), padding=(1, 1), dilation=(1, 2)),
    Shape(2, 6, 32, 12, 16, (4, 4), stride=(4, 4), groups=2),
)


@pytest.mark.parametrize("shape", PLANES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_single_planes(shape: Shape, dtype: str) -> None:
    images, filters = (x.astype(dtype) for x in shape.factors())
    bias = np.arange(shape.outputs).astype(dtype)
    result = shape.call(*map(flambeau.tensor, (images, filters, bias))).numpy()
    wide = shape.convolved(images.astype("float64"), filters.astype("float64"))
    wide += bias.astype("float64")[:, None, None]
    step = {"float64": 1e-13, "float32": 1e-5, "float16": 2e-3}[dtype]
    np.testing.assert_allclose(result, wide, rtol=step, atol=10 * step)


@pytest.mark.parametrize("shape", UNFOLDED + MANY_FILTERS, ids=str)
def test_images_of_bfloat16(shape: Shape) -> None:
    images, filters = (flambeau.tensor(x).bfloat16() for x in shape.factors())
    bias = flambeau.arange(shape.outputs).bfloat16()
    result = shape.call(images, filters, bias)
    wide = shape.convolved(images.double().numpy(), filters.double().numpy())
    wide += bias.double().numpy()[:, None, None]  # 257 is none of bfloat16
    assert result.dtype is flambeau.bfloat16
    np.testing.assert_allclose(result.double().numpy(), wide, rtol=1 / 256, atol=1e-4)


def expected_gradients(shape: Shape, images: Any, filters: Any, grads: Any) -> tuple[Any, Any]:
    """Of the sums over windows, in float64."""
    grouped = grads.reshape(shape.batch, shape.groups, -1, *grads.shape[2:])
    of_filters = np.einsum("ngcijrs,ngkij->gkcrs", shape.windows(images), grouped)
    weights = filters.reshape(shape.groups, -1, *filters.shape[1:])
    of_windows = np.einsum("gkcrs,ngkij->ngcijrs", weights, grouped)
    # Each element of a window is that of the images with its number.
    numbers = np.arange(images.size, dtype="float64").reshape(images.shape) + 1
    places = shape.windows(numbers).astype(np.int64)
    of_images = np.bincount(places.ravel(), of_windows.ravel(), images.size + 1)[1:]
    return of_images.reshape(images.shape), of_filters.reshape(filters.shape)


@pytest.mark.parametrize("shape", MATRICES + MANY_FILTERS, ids=str)
@pytest.mark.parametrize("lies", ["contiguous_format", "channels_last"])
def test_bfloat16_and_its_gradients(shape: Shape, lies: str) -> None:
    memory_format = getattr(flambeau, lies)
    leaves = [
        flambeau.tensor(x).bfloat16().contiguous(memory_format=memory_format).requires_grad_()
        for x in shape.factors()
    ]
    bias = flambeau.linspace(-3, 3, shape.outputs).bfloat16()
    result = shape.call(*leaves, bias)
    assert result.dtype is flambeau.bfloat16
    assert result.is_contiguous(memory_format=memory_format)
    generator = np.random.default_rng(6)
    grads = flambeau.tensor(generator.standard_normal(tuple(result.shape))).bfloat16()
    found = flambeau.autograd.grad(result, leaves, grads)
    images, filters = (leaf.detach().double().numpy() for leaf in leaves)
    wide = shape.convolved(images, filters) + bias.double().numpy()[:, None, None]
    pairs = zip(
        [result.detach(), *found],
        [wide, *expected_gradients(shape, images, filters, grads.double().numpy())],
        strict=True,
    )
    for seen, expected in pairs:
        # Sums of phases and parts are rounded more than once where there are no such registers.
        scale = np.abs(expected).mean()
        np.testing.assert_allclose(seen.double().numpy(), expected, rtol=1 / 128, atol=scale / 64)


def test_infinite_images_of_bfloat16_meet_no_zeros() -> None:
    """In the gradient of filters, behind the ends of rows."""
    shape = Shape(1, 16, 16, 5, 7, (3, 3))
    images, filters = shape.factors()
    images[:, 3, 0, 6] = np.inf  # which but the last column of the filters meets
    leaf = flambeau.tensor(filters).bfloat16().requires_grad_()
    result = shape.call(flambeau.tensor(images).bfloat16(), leaf)
    (grad,) = flambeau.autograd.grad(result, leaf, flambeau.ones_like(result))
    expected = np.zeros(filters.shape, bool)
    expected[:, 3, 0, 2] = True
    np.testing.assert_array_equal(~grad.isfinite().numpy(), expected)


@pytest.mark.parametrize(
    "shape", UNFOLDED + WIDE + FEW_CHANNELS + MANY_FILTERS + GRADIENTS, ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_images_of_floats(shape: Shape, dtype: str) -> None:
    images, filters = (x.astype(dtype) for x in shape.factors())
    result = shape.call(flambeau.tensor(images), flambeau.tensor(filters)).numpy()
    wide = shape.convolved(images.astype("float64"), filters.astype("float64"))
    step = 1e-13 if dtype == "float64" else 1e-5
    terms = filters[0].size  # each of which is rounded
    np.testing.assert_allclose(result, wide, rtol=step, atol=step * max(10, terms**0.5))


@pytest.mark.parametrize("shape", GRADIENTS + FEW_CHANNELS + PLANES + WIDE, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_are_those_of_the_sums(shape: Shape, dtype: str) -> None:
    """Of a linear map: <grad, d result> is <gradient, d argument> for each unit of an argument."""
    images, filters = shape.factors()
    leaves = [flambeau.tensor(x.astype(dtype), requires_grad=True) for x in (images, filters)]
    result = shape.call(*leaves)
    weights = np.random.default_rng(4).standard_normal(tuple(result.shape))
    result.backward(flambeau.tensor(weights.astype(dtype)))
    step = 1e-12 if dtype == "float64" else 1e-5
    generator = np.random.default_rng(5)
    for leaf, array in zip(leaves, (images, filters), strict=True):
        for _ in range(4):
            other = generator.standard_normal(array.shape)
            pair = (other, filters) if array is images else (images, other)
            moved = (shape.convolved(*pair) * weights).sum()
            found = (leaf.grad.double().numpy() * other).sum()
            size = np.abs(leaf.grad.double().numpy() * other).sum()
            assert abs(moved - found) <= step * size
    unread = leaves[0].grad.numpy()[:, :, -1, -1]
    reached = shape.convolved(np.abs(images), np.abs(filters)).shape[2:]
    ends = [
        (n - 1) * s + d * (k - 1) + 1 - p
        for n, s, d, k, p in zip(
            reached, shape.stride, shape.dilation, shape.kernel, shape.padding, strict=True
        )
    ]
    if ends[0] < shape.height and ends[1] < shape.width:
        assert (unread == 0).all()


def test_infinite_weights_meet_no_zeros_between_gradients() -> None:
    x = flambeau.zeros(2, 4, 9, 9, requires_grad=True)
    weight = flambeau.ones(4, 1, 3, 3)
    weight[:, :, 0, 0] = float("inf")
    result = functional.conv2d(x, weight, None, 2, 1, 1, 4)
    (grad,) = flambeau.autograd.grad(result.sum(), x)
    expected = np.zeros((11, 11))
    for i in range(0, 9, 2):
        for j in range(0, 9, 2):
            expected[i : i + 3, j : j + 3] += weight[0, 0].numpy()
    np.testing.assert_array_equal(grad.numpy(), np.tile(expected[1:-1, 1:-1], (2, 4, 1, 1)))


def test_what_no_window_meets_is_in_no_gradient() -> None:
    """Images of one channel a group, whose last columns and rows lie behind the last window."""
    generator = np.random.default_rng(6)
    images, grads = generator.random((2, 3, 11, 23)), generator.random((2, 3, 5, 11))
    images[..., 22:] = float("inf")
    images[..., 10:, :] = float("nan")
    shape = Shape(2, 3, 3, 11, 23, (2, 2), stride=(2, 2), groups=3)
    for dtype in ("float32", "float64"):
        leaf = flambeau.tensor(generator.random((3, 1, 2, 2)).astype(dtype), requires_grad=True)
        x = flambeau.tensor(images.astype(dtype))
        shape.call(x, leaf).backward(flambeau.tensor(grads.astype(dtype)))
        met = shape.windows(images)[:, :, 0]
        expected = np.einsum("ngijrs,ngij->grs", met, grads)[:, None]
        np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-5)


def test_strides_beyond_the_image_cost_nothing() -> None:
    images, filters = Shape(2, 4, 4, 5, 6, (2, 2), stride=(5, 6), groups=2).factors()
    found = []
    for stride in (6, 2**40):
        leaves = [flambeau.tensor(x, requires_grad=True) for x in (images, filters)]
        result = functional.conv2d(*leaves, stride=(stride, 6), groups=2)
        found.append([result, *flambeau.autograd.grad(result.square().sum(), leaves)])
    for near, far in zip(*found, strict=True):
        np.testing.assert_array_equal(near.detach().numpy(), far.detach().numpy())
