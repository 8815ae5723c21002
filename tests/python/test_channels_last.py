"""Layers on images whose channels lie next to each other: values, gradients, formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.utils._python_dispatch import TorchDispatchMode

SHAPES = [(3, 6, 5, 4), (1, 8, 2, 5), (2, 96, 7, 7), (2, 6, 3, 4, 5)]
LIMITS = {flambeau.float64: 1e-10, flambeau.float32: 1e-4, flambeau.bfloat16: 0.1}

Layer = Callable[..., Tensor]
NORMALIZED: dict[str, Layer] = {
    "batches": lambda x, w, b: nn.functional.batch_norm(x, None, None, w, b, True),
    "groups": lambda x, w, b: nn.functional.group_norm(x, 2, w, b),
    "samples": lambda x, w, b: nn.functional.group_norm(x, 1, w, b),
}


def channels_last(images: Tensor) -> Tensor:
    return images.movedim(1, -1).contiguous().movedim(-1, 1)


def lies_channels_last(images: Tensor) -> bool:
    return images.movedim(1, -1).is_contiguous()


def differentiated(layer: Layer, *given: Tensor) -> list[Tensor]:
    """The result, its gradients, and the gradients of their sum of squares."""
    leaves = [g.detach().clone().requires_grad_() for g in given]
    result = layer(*leaves)
    scale = flambeau.linspace(-1, 1, result.numel()).reshape(result.shape).bfloat16()
    first = flambeau.autograd.grad(result, leaves, scale.to(result.dtype), create_graph=True)
    squares = sum((g * g.conj()).real.sum() for g in first)
    second = flambeau.autograd.grad(squares, leaves, materialize_grads=True)
    return [result.detach(), *(g.detach() for g in first), *second]


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NORMALIZED)
def test_normalization(name: str, shape: tuple[int, ...], dtype: flambeau.dtype) -> None:
    flambeau.manual_seed(0)
    given = [flambeau.randn(*s).to(dtype) for s in (shape, shape[1:2], shape[1:2])]
    wanted = differentiated(NORMALIZED[name], *(g.double() for g in given))
    found = differentiated(NORMALIZED[name], channels_last(given[0]), *given[1:])
    assert lies_channels_last(found[0])
    assert lies_channels_last(found[1])
    for one, other in zip(found[:4], wanted[:4], strict=True):
        size = max(float(other.abs().max()), 1.0)
        assert float((one.double() - other).abs().max()) <= LIMITS[dtype] * size
    if dtype == flambeau.float64:
        for one, other in zip(found[4:], wanted[4:], strict=True):
            assert flambeau.allclose(one, other, rtol=1e-8, atol=1e-8)


# (batch, channels, rows, columns), (filters, rows, columns), stride, padding, dilation, groups
CONVOLUTIONS = [
    ((2, 16, 9, 8), (24, 3, 3), 1, 1, 1, 1),  # transforms
    ((5, 100, 15, 9), (33, 3, 3), 1, 2, 1, 1),
    ((2, 20, 30, 31), (19, 3, 3), 1, 0, 2, 1),
    ((4, 256, 7, 7), (264, 3, 3), 1, 1, 1, 1),  # of all images at once
    ((3, 32, 7, 7), (16, 1, 1), 1, 0, 1, 1),  # products of pixels
    ((2, 32, 9, 7), (16, 1, 1), 2, 0, 1, 1),
    ((2, 20, 11, 12), (36, 3, 3), 2, 1, 1, 1),  # products of patches
    ((2, 20, 11, 12), (18, 3, 3), 2, 1, 1, 1),
    ((1, 24, 13, 9), (16, 3, 2), (2, 3), (1, 0), (1, 2), 1),
    ((2, 16, 9, 9), (16, 4, 4), 1, 6, 1, 1),  # windows that lie outside
    ((2, 3, 17, 16), (32, 7, 7), 2, 3, 1, 1),
    ((2, 20, 9, 8), (20, 3, 3), 1, 1, 1, 20),  # a filter for each channel
    ((3, 37, 9, 10), (37, 3, 3), 2, 1, 1, 37),
    ((2, 35, 12, 12), (35, 7, 7), 1, 3, 1, 35),
    ((2, 18, 9, 11), (18, 3, 5), (2, 1), (0, 3), (2, 1), 18),
    ((3, 17, 5, 20), (17, 1, 1), 1, 0, 1, 17),
    ((2, 8, 9, 9), (16, 3, 3), 1, 1, 1, 4),
    ((2, 16, 5, 5), (16, 2, 2), 3, 0, 1, 1),  # elements that no window meets
    ((2, 3, 14, 25), (8, 3, 3), 2, 1, 1, 1),  # windows that are read where they lie
    ((2, 8, 9, 31), (16, 3, 3), 1, 1, 1, 1),
    ((1, 5, 9, 61), (7, 3, 3), 1, 1, 1, 1),  # all channels of a result in a vector
    ((2, 16, 14, 29), (16, 5, 5), 1, 2, 1, 1),
    ((2, 12, 13, 22), (15, 3, 2), (2, 1), (0, 3), (1, 2), 3),
    ((1, 10, 9, 40), (20, 2, 5), (4, 3), (5, 0), 1, 5),
    ((2, 5, 6, 12), (40, 3, 3), 1, 1, 1, 1),
    ((2, 32, 9, 30), (32, 3, 3), 1, 1, 1, 8),  # groups that share vectors
    ((1, 16, 11, 41), (16, 3, 5), (2, 1), (0, 4), (1, 2), 4),
    ((2, 48, 8, 17), (48, 3, 3), 1, 1, 1, 6),
    ((1, 16, 12, 50), (16, 5, 2), (3, 2), (2, 0), 1, 2),
    ((2, 3, 50, 128), (32, 7, 7), 2, 3, 1, 1),  # patches of some rows at a time
    ((1, 16, 70, 240), (16, 2, 2), 3, 0, 1, 1),
    ((2, 2, 20, 21), (16, 3, 3), 1, 2, 2, 1),  # lines of few channels
    ((2, 2, 6, 7), (20, 5, 9), (1, 2), (2, 6), 1, 1),
    ((2, 3, 9, 7), (20, 1, 1), 1, 0, 1, 1),
]


@pytest.mark.parametrize("dtype", [*LIMITS, flambeau.float16], ids=str)
@pytest.mark.parametrize("shape", [*SHAPES, (70, 6), (3, 600), (2, 6, 0), (4, 3, 2, 1)], ids=str)
@pytest.mark.parametrize("lay", [channels_last, lambda images: images], ids=["last", "rows"])
def test_given_statistics(
    lay: Callable[[Tensor], Tensor], shape: tuple[int, ...], dtype: flambeau.dtype
) -> None:
    """Against the formula, with gradients of the statistics too."""

    def formula(x: Tensor, mean: Tensor, var: Tensor, w: Tensor, b: Tensor) -> Tensor:
        mean, var, w, b = (v.reshape(-1, *[1] * (x.dim() - 2)) for v in (mean, var, w, b))
        return (x - mean) / (var + 0.1).sqrt() * w + b

    flambeau.manual_seed(0)
    images, *others = (flambeau.randn(*s).to(dtype) for s in (shape, *[shape[1:2]] * 4))
    others[1] = others[1].abs() + 0.5
    wanted = differentiated(formula, *(t.double() for t in (images, *others)))
    layer = nn.functional.batch_norm
    found = differentiated(
        lambda x, mean, var, w, b: layer(x, mean, var, w, b, False, 0.1, 0.1),
        lay(images),
        *others,
    )
    limit = {**LIMITS, flambeau.float16: 0.01}[dtype]
    count = len(found) if dtype == flambeau.float64 else 6
    for one, other in zip(found[:count], wanted[:count], strict=True):
        assert one.dtype == dtype
        size = max(float(other.abs().max()), 1.0) if other.numel() else 1.0
        assert flambeau.allclose(one.double(), other, rtol=0, atol=limit * size)


@pytest.mark.parametrize("filter_last", [False, True], ids=["row-major", "channels-last"])
@pytest.mark.parametrize("dtype", [*LIMITS, flambeau.complex64], ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolution(case: tuple[Any, ...], dtype: flambeau.dtype, filter_last: bool) -> None:
    shape, (filters, *size), stride, padding, dilation, groups = case
    flambeau.manual_seed(0)
    wide = flambeau.complex128 if dtype.is_complex else flambeau.float64
    shapes = (shape, (filters, shape[1] // groups, *size), (filters,))
    given = [flambeau.randn(*s).to(dtype) for s in shapes]

    def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return nn.functional.conv2d(x, w, b, stride, padding, dilation, groups)

    wanted = differentiated(layer, *(g.to(wide) for g in given))
    images, weight = channels_last(given[0]), given[1]
    found = differentiated(
        layer, images, channels_last(weight) if filter_last else weight, given[2]
    )
    assert lies_channels_last(found[0])
    limit = LIMITS.get(dtype, 1e-4)
    for one, other in zip(found, wanted, strict=True):
        assert float((one.to(wide) - other).abs().max()) <= limit * float(other.abs().max())


def test_transforms_of_infinity() -> None:
    """Transforms take differences of sums: an infinite pixel is seen by its own windows only."""
    flambeau.manual_seed(0)
    images, weight = flambeau.randn(2, 32, 9, 9), flambeau.randn(32, 32, 3, 3)
    images[1, 3, 4, 4] = flambeau.inf
    given = channels_last(images).requires_grad_()
    result = nn.functional.conv2d(given, weight, padding=1)
    finite = flambeau.ones(2, 9, 9, dtype=flambeau.bool)
    finite[1, 3:6, 3:6] = False
    assert bool((result.isfinite().all(1) == finite).all())
    assert not bool(result.isnan().any())


# Layers that move elements, or weigh a few of them; whether they are of volumes, too.
RESHAPED: dict[str, tuple[Layer, bool]] = {
    "nearest": (lambda x, *_: nn.functional.interpolate(x, scale_factor=2.0), True),
    "nearest-exact": (
        lambda x, *_: nn.functional.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
        True,
    ),
    "bilinear": (
        lambda x, *_: nn.functional.interpolate(
            x, size=(7, 3), mode="bilinear", align_corners=True
        ),
        False,
    ),
    "smooth": (
        lambda x, *_: nn.functional.interpolate(x, size=(3, 3), mode="bicubic", antialias=True),
        False,
    ),
    "joined channels": (lambda x, *_: flambeau.cat([x, x[:, :2], x * x], 1), True),
    "joined samples": (lambda x, *_: flambeau.cat([x, flambeau.zeros(0, dtype=x.dtype), x]), True),
    "joined rows": (lambda x, *_: flambeau.cat([x, x[:, :, :1]], 2), True),
    "joined columns": (lambda x, *_: flambeau.cat([x[..., 1:], x], -1), True),
    "shuffled pixels": (lambda x, *_: nn.functional.pixel_shuffle(x[:, :4], 2), False),
    "shuffled channels": (lambda x, *_: nn.functional.channel_shuffle(x, 2), True),
    "gathered pixels": (lambda x, *_: nn.functional.pixel_unshuffle(x[:, :, :4, :4], 2), False),
}


MOVED = [
    (name, shape)
    for name, (_, of_volumes) in RESHAPED.items()
    for shape in [(3, 6, 5, 4), (2, 20, 6, 5), *([(2, 6, 3, 4, 5)] if of_volumes else [])]
]


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize(("name", "shape"), MOVED, ids=str)
def test_elements_elsewhere(name: str, shape: tuple[int, ...], dtype: flambeau.dtype) -> None:
    layer, _ = RESHAPED[name]

    def of_squares(x: Tensor) -> Tensor:  # linear layers have no second derivative
        return layer(x * x, x, x)

    flambeau.manual_seed(0)
    images = flambeau.randn(*shape).to(dtype)
    wanted = differentiated(of_squares, images.double())
    found = differentiated(of_squares, channels_last(images))
    assert found[0].shape[1] == 1 or lies_channels_last(found[0])
    for one, other in zip(found, wanted, strict=True):
        size = max(float(other.abs().max()), 1.0)
        assert float((one.double() - other).abs().max()) <= LIMITS[dtype] * size


def test_gradients_lie_as_the_images() -> None:
    images = channels_last(flambeau.randn(2, 4, 4, 6)).requires_grad_()
    layers: list[Callable[[Tensor], Tensor]] = [
        lambda x: nn.functional.interpolate(x, scale_factor=2.0),
        lambda x: nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"),
        lambda x: nn.functional.pixel_shuffle(x, 2),
        lambda x: nn.functional.pixel_unshuffle(x, 2),
        lambda x: nn.functional.channel_shuffle(x, 2),
        lambda x: flambeau.cat([x, x], 1),
    ]
    for layer in layers:
        result = layer(images)
        given = channels_last(flambeau.ones(*result.shape))
        (found,) = flambeau.autograd.grad(result, images, given)
        assert lies_channels_last(found)


@pytest.mark.parametrize("size", [1, 3])
def test_gradients_of_sums_lie_as_the_images(size: int) -> None:
    """The gradient of a sum is one number, expanded."""
    images = channels_last(flambeau.randn(2, 4, 4, 6)).requires_grad_()
    filters = flambeau.randn(5, 4, size, size, requires_grad=True)
    result = nn.functional.conv2d(images, filters, padding=size // 2)
    found = flambeau.autograd.grad(result.sum(), [images, filters], retain_graph=True)
    wanted = flambeau.autograd.grad(result, [images, filters], flambeau.ones(*result.shape))
    assert lies_channels_last(found[0])
    for one, other in zip(found, wanted, strict=True):
        assert flambeau.allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("stride", [1, 2])
def test_infinite_weights_of_few_channels(stride: int) -> None:
    """They meet the gradients of their own windows, and no zeros between or around these."""
    flambeau.manual_seed(0)
    images, weight = flambeau.randn(2, 3, 11, 14), flambeau.randn(16, 3, 3, 3)
    weight[5, 1, 2, 0] = flambeau.inf
    images = channels_last(images).requires_grad_()
    result = nn.functional.conv2d(images, weight, stride=stride, padding=1)
    grads = flambeau.linspace(-1, 1, result.numel()).reshape(result.shape)
    result.backward(grads)
    wanted = np.zeros((2, 3, 13 + stride, 16 + stride))
    rows, columns = (stride * size for size in result.shape[2:])
    for r, s in np.ndindex(3, 3):
        met = np.einsum("nkij,kc->ncij", grads.numpy(), weight.numpy()[:, :, r, s])
        wanted[:, :, r : r + rows : stride, s : s + columns : stride] += met
    wanted = wanted[:, :, 1:12, 1:15]
    assert np.isinf(wanted).sum() > 50
    assert images.grad is not None
    assert np.allclose(images.grad.numpy(), wanted, rtol=1e-4, atol=1e-4)


class Laid(TorchDispatchMode):
    """Counts how often memory is laid out anew."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.overloadpacket.__name__ in ("contiguous", "clone")
        return func(*args, **(kwargs or {}))


def test_gradients_of_sums_are_laid_once() -> None:
    """For the gradients of the images and of the filters together."""
    images = channels_last(flambeau.randn(2, 4, 4, 6)).requires_grad_()
    filters = flambeau.randn(5, 4, 3, 3, requires_grad=True)
    total = nn.functional.conv2d(images, filters).sum()
    with Laid() as laid:
        total.backward()
    assert laid.count == 1


def test_empty_images_lie_as_they_are_made() -> None:
    images = flambeau.empty(2, 0, 3, 4, memory_format=flambeau.channels_last)
    assert images.is_contiguous(memory_format=flambeau.channels_last)
    assert images.contiguous(memory_format=flambeau.channels_last).is_contiguous(
        memory_format=flambeau.channels_last
    )
    strided = flambeau.empty(2, 3, 4, 5).as_strided((2, 1, 4, 5), (20, 7, 5, 1))
    assert strided.is_contiguous(memory_format=flambeau.channels_last)
    assert not flambeau.empty(2, 3, 4, 5).is_contiguous(memory_format=flambeau.channels_last)


def test_batches_of_volumes_of_pixels() -> None:
    """Five dims whose second varies fastest: channels are the third there."""
    given = flambeau.randn(2, 3, 4, 4, 4)
    for layer in (nn.functional.pixel_shuffle, nn.functional.pixel_unshuffle):
        assert flambeau.equal(layer(channels_last(given), 2), layer(given, 2))


def test_joined_layouts() -> None:
    """A result is row-major where one of the tensors is, and of dims that are no image."""
    images = flambeau.randn(2, 3, 4, 5)
    mixed = flambeau.cat([channels_last(images), images], 1)
    assert mixed.is_contiguous()
    rows = flambeau.randn(2, 5, 3).transpose(1, 2)
    assert flambeau.cat([rows, rows], 1).is_contiguous()


def test_bytes_resized() -> None:
    images = flambeau.randint(0, 256, (2, 3, 6, 7)).to(flambeau.uint8)
    wanted = nn.functional.interpolate(images, size=(9, 5), mode="bilinear")
    found = nn.functional.interpolate(channels_last(images), size=(9, 5), mode="bilinear")
    assert lies_channels_last(found)
    assert flambeau.equal(found, wanted)


def test_far_from_zero() -> None:
    """The variance of many pixels that lie far from zero, and close together."""
    flambeau.manual_seed(0)
    images = 4096 + flambeau.randn(4, 3, 40, 40)
    layer = nn.BatchNorm2d(3)
    layer(channels_last(images))
    wanted = images.double().var(dim=(0, 2, 3)) * 0.1 + 0.9
    assert flambeau.allclose(layer.running_var.double(), wanted, rtol=1e-5)
