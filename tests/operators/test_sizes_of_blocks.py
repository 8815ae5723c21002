"""Operators at sizes where their kernels begin to work in blocks: whole ones, rests, several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau.nn import functional

DTYPES = (np.float32, np.float64)


def normal(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def gradient(function: Any, array: Any, weights: Any) -> Any:
    """Of the weighted sum of the function's result."""
    leaf = torch.from_numpy(array).requires_grad_()
    result = function(leaf)
    return torch.autograd.grad(result, leaf, torch.from_numpy(weights))[0].numpy()


def close(found: Any, expected: Any, dtype: Any) -> None:
    tolerance = 2e-5 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [(33, 7), (200, 300), (65, 16), (9, 600), (70, 40, 9), (130, 3, 17), (40, 70, 49), (3, 5, 700)],
)
def test_batch_norm(shape: tuple[int, ...], dtype: Any) -> None:
    x, grad = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype, seed=1)
    weight, bias = normal(shape[1], dtype=dtype, seed=2), normal(shape[1], dtype=dtype, seed=3)
    axes = (0, *range(2, len(shape)))
    per_channel = (1, -1, *[1] * (len(shape) - 2))
    wide, wide_grad = x.astype(np.float64), grad.astype(np.float64)
    rstd = 1 / np.sqrt(wide.var(axes, keepdims=True) + 1e-5)
    normed = (wide - wide.mean(axes, keepdims=True)) * rstd
    leaves = [torch.from_numpy(a).requires_grad_() for a in (x, weight, bias)]
    result = functional.batch_norm(leaves[0], None, None, leaves[1], leaves[2], training=True)
    found = torch.autograd.grad(result, leaves, torch.from_numpy(grad))
    close(
        result.detach().numpy(),
        normed * weight.reshape(per_channel) + bias.reshape(per_channel),
        dtype,
    )
    slope = (wide_grad * normed).mean(axes, keepdims=True)
    flat = wide_grad - wide_grad.mean(axes, keepdims=True) - normed * slope
    close(found[0].numpy(), flat * rstd * weight.reshape(per_channel), dtype)
    close(found[1].numpy() / grad.size, (wide_grad * normed).sum(axes) / grad.size, dtype)
    close(found[2].numpy() / grad.size, wide_grad.sum(axes) / grad.size, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 3), (15, 17), (16, 100), (37, 33), (40, 1000), (3, 9000)])
def test_log_softmax(shape: tuple[int, int], dtype: Any) -> None:
    x = 5 * normal(*shape, dtype=dtype)
    x[0, 0] = -np.inf
    moved = x.astype(np.float64) - x.max(1, keepdims=True)
    expected = moved - np.log(np.exp(moved).sum(1, keepdims=True))
    result = functional.log_softmax(torch.from_numpy(x), -1).numpy()
    close(np.exp(result), np.exp(expected), dtype)
    close(result[:, 1:], expected[:, 1:], dtype)
    rows = [functional.log_softmax(torch.from_numpy(row), -1).numpy() for row in x]
    assert np.array_equal(result, np.stack(rows))


def windows(size: int, count: int) -> list[slice]:
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("planes", [1, 4, 7])
@pytest.mark.parametrize(
    ("image", "output"),
    [((7, 7), (1, 1)), ((40, 41), (1, 1)), ((9, 20), (4, 1)), ((13, 50), (5, 3)), ((8, 8), (8, 8))],
)
def test_adaptive_averages(
    image: tuple[int, int], output: tuple[int, int], planes: int, dtype: Any
) -> None:
    x = normal(planes, *image, dtype=dtype)
    grad = normal(planes, *output, dtype=dtype, seed=1)
    expected, spread = np.zeros(grad.shape), np.zeros(x.shape)
    for i, rows in enumerate(windows(image[0], output[0])):
        for j, columns in enumerate(windows(image[1], output[1])):
            part = x[:, rows, columns].astype(np.float64)
            expected[:, i, j] = part.mean((1, 2))
            spread[:, rows, columns] += grad[:, i, j, None, None] / part[0].size

    def pool(tensor: Any) -> Any:
        return functional.adaptive_avg_pool2d(tensor, output)

    close(pool(torch.from_numpy(x)).numpy(), expected, dtype)
    close(gradient(pool, x, grad), spread, dtype)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(2, 2, 0), (3, 1, 1), (2, 3, 0), (3, 2, 1), ((1, 4), 5, 0)]
)
def test_gradient_of_averages_reaches_every_row(kernel: Any, stride: int, padding: int) -> None:
    x = normal(3, 14, 15)

    def pool(tensor: Any) -> Any:
        return functional.avg_pool2d(tensor, kernel, stride, padding)

    grad = normal(*pool(torch.from_numpy(x)).shape, seed=1)
    # The pooling is linear: its gradient is what it does to each unit vector.
    units = np.eye(14 * 15).reshape(-1, 1, 14, 15)
    each = pool(torch.from_numpy(units)).numpy().reshape(14 * 15, -1)
    close(gradient(pool, x, grad).reshape(3, -1), grad.reshape(3, -1) @ each.T, np.float64)


@pytest.mark.parametrize(("size", "step", "dim"), [(3, 1, 1), (3, 1, 0), (4, 4, 1), (5, 2, 0)])
def test_gradient_of_unfold(size: int, step: int, dim: int) -> None:
    x = normal(40, 50)
    count = (x.shape[dim] - size) // step + 1
    shape = [count if d == dim else n for d, n in enumerate(x.shape)]
    grad, expected = normal(*shape, size, seed=1), np.zeros(x.shape)
    for i in range(count):
        place = [slice(None), slice(None)]
        place[dim] = slice(i * step, i * step + size)
        part = np.take(grad, i, dim)  # [other dim, size]
        expected[tuple(place)] += part.T if dim == 0 else part
    close(gradient(lambda t: t.unfold(dim, size, step), x, grad), expected, np.float64)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize(("points", "count"), [(40, 1), (65, 16), (130, 64), (70, 65), (7, 3)])
def test_distances(points: int, count: int, p: float) -> None:
    x, y = normal(points, count), normal(points + 3, count, seed=1)
    x[1] = x[0]
    apart = np.abs(x[:, None] - y[None])
    own = np.abs(x[:, None] - x[None])[np.triu_indices(points, 1)]
    for found, away in (
        (torch.cdist(torch.from_numpy(x), torch.from_numpy(y), p), apart),
        (functional.pdist(torch.from_numpy(x), p), own),
    ):
        expected = np.linalg.norm(away.reshape(-1, count), p, -1).reshape(away.shape[:-1])
        close(found.numpy(), expected, np.float32)  # the way by products loses digits


@pytest.mark.parametrize("shape", [(6,), (6, 33), (6, 8000), (3, 6), (40, 6)])
@pytest.mark.parametrize("alpha", [1, -2.5])
def test_index_add(shape: tuple[int, ...], alpha: float) -> None:
    dim = shape.index(6)
    index = np.asarray([0, 3, 3, 5, 1, 3, 0, 2, 2])
    sources = [len(index) if d == dim else n for d, n in enumerate(shape)]
    x, source = normal(*shape), normal(*sources, seed=1)
    expected = x.copy()
    place: list[Any] = [slice(None)] * len(shape)
    place[dim] = index
    np.add.at(expected, tuple(place), alpha * source)
    result = torch.from_numpy(x).index_add(
        dim, torch.from_numpy(index), torch.from_numpy(source), alpha=alpha
    )
    close(result.numpy(), expected, np.float64)


COMPLEX_PRODUCTS = (
    *((2, 3, 2), (7, 9, 11), (64, 40, 20), (130, 300, 37)),
    *((1, 600, 300), (3, 600, 300), (300, 600, 3), (300, 600, 1), (40, 500, 300), (300, 500, 40)),
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "k", "n"), COMPLEX_PRODUCTS)
def test_complex_products(m: int, k: int, n: int, dtype: Any) -> None:
    bias, a, b = (
        normal(*shape, 2, dtype=dtype).view(np.result_type(dtype, np.complex64))[..., 0]
        for shape in ((n,), (m, k), (k, n))
    )
    expected = (0.5 + 1j) * bias + (2 - 1j) * (a.astype(np.complex128) @ b)
    for left in (a, np.asfortranarray(a)):
        for right in (b, np.asfortranarray(b)):
            tensors = [torch.from_numpy(each) for each in (bias, left, right)]
            found = torch.addmm(*tensors, beta=0.5 + 1j, alpha=2 - 1j).numpy()
            close(found / k, expected / k, dtype)


@pytest.mark.parametrize("count", [32768, 32769, 100_000])
def test_long_dot_products(count: int) -> None:
    x, y = normal(count), normal(count, seed=1)
    for found in (torch.dot, torch.linalg.vecdot):
        close(found(torch.from_numpy(x), torch.from_numpy(y)).item(), x @ y, np.float64)


@pytest.mark.parametrize("columns", [1, 5, 28, 127, 128, 300])
def test_rows_are_joined_and_chosen(columns: int) -> None:
    x, places = normal(50, columns, dtype=np.float32), np.arange(0, 50, 3)
    tensor, index = torch.from_numpy(x), torch.from_numpy(places)
    assert np.array_equal(tensor.index_select(0, index).numpy(), x[places])
    assert np.array_equal(functional.embedding(index, tensor).numpy(), x[places])
    joined = torch.cat([tensor, tensor[:, :1], tensor], 1)
    assert np.array_equal(joined.numpy(), np.concatenate([x, x[:, :1], x], 1))


def test_gradient_of_a_mean_of_bags_of_long_rows() -> None:
    table, index = normal(9, 200), np.asarray([[0, 3, 3], [8, 0, 1]])
    grad, expected = normal(2, 200, seed=1), np.zeros((9, 200))
    for bag, places in enumerate(index):
        np.add.at(expected, places, grad[bag] / 3)
    found = gradient(lambda t: functional.embedding_bag(torch.from_numpy(index), t), table, grad)
    close(found, expected, np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 7, 8, 15, 16, 49, 64, 255, 256, 300])
def test_reductions_of_rows(count: int, dtype: Any) -> None:
    x = normal(37, count, dtype=dtype)
    tensor, wide = torch.from_numpy(x), x.astype(np.float64)
    close(tensor.sum(-1).numpy(), wide.sum(-1), dtype)
    close(tensor.mean(-1).numpy(), wide.mean(-1), dtype)
    assert np.array_equal(tensor.amax(-1).numpy(), x.max(-1))
    assert np.array_equal(tensor.amin(-1).numpy(), x.min(-1))
    assert np.array_equal((tensor > 1).any(-1).numpy(), (x > 1).any(-1))


@pytest.mark.parametrize("exponent", [-2, -1, -0.5, 0.5, 2, 3])
def test_powers_that_have_their_own_formula(exponent: float) -> None:
    x, grad = np.abs(normal(50)) + 0.1, normal(50, seed=1)
    close((torch.from_numpy(x) ** exponent).numpy(), x**exponent, np.float64)
    slope = exponent * x ** (exponent - 1)
    close(gradient(lambda t: t**exponent, x, grad), grad * slope, np.float64)
    written = torch.from_numpy(x.copy())
    written.pow_(exponent)
    close(written.numpy(), x**exponent, np.float64)


@pytest.mark.parametrize("shape", [(0, 3, 4, 4), (2, 3, 0, 4), (0, 3), (2, 0, 3), (0, 300, 2)])
def test_batch_norm_of_nothing(shape: tuple[int, ...]) -> None:
    channels = shape[1]
    x = torch.randn(shape, requires_grad=True)
    weight = torch.ones(channels, requires_grad=True)
    y = functional.batch_norm(x, None, None, weight, training=True)
    y.sum().backward()
    assert y.shape == shape
    assert x.grad is not None and x.grad.shape == shape
    assert weight.grad is not None and weight.grad.tolist() == [0] * channels


def test_instance_norm_of_nothing() -> None:
    x = torch.randn(0, 3, 64)[..., :0]
    weight = torch.ones(3)
    normalize = torch._C._internal.instance_norm_train
    found = normalize(x, weight, running_var=None, weight=weight, bias=weight, momentum=0, eps=0)
    assert all(result.numel() in (0, 3) for result in found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [0.0, 1.0, 1.5, 2.0])
def test_distances_of_points_in_vectors(order: float, dtype: Any) -> None:
    for points, coordinates in ((2, 70), (17, 65), (33, 84), (9, 129), (300, 20), (300, 30)):
        x = normal(points, coordinates, dtype=dtype)
        x[1] = x[0]
        apart = np.abs(x[:, None].astype(np.float64) - x)
        raised = (apart != 0) * 1.0 if order == 0 else apart**order
        expected = raised.sum(-1) if order == 0 else raised.sum(-1) ** (1 / order)
        pairs = np.triu_indices(points, 1)
        given = torch.from_numpy(x)
        close(functional.pdist(given, order).numpy(), expected[pairs], dtype)
        found = torch.cdist(given[:11], given, order, "donot_use_mm_for_euclid_dist")
        close(found.numpy(), expected[:11], dtype)
