"""Gradients of operands that were broadcast, of sizes at which they are summed in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau

# Operands so large that several parts are computed; of equal sizes, and summed over any dims.
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((700, 1), (1, 500)),
    ((1, 500), (700, 1)),
    ((700, 500), (500,)),
    ((700, 500), (700, 1)),
    ((700, 500), ()),
    ((700, 500), (1, 1)),
    ((6, 50, 32, 40), (50, 1, 1)),
    ((6, 50, 32, 40), (6, 1, 32, 1)),
    ((3, 120_000), (120_000,)),
    ((3, 1, 5, 20_001), (5, 1)),
    ((1, 300_001), (2, 1)),
]
# The function, and its derivatives by both operands.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "mul": (flambeau.mul, lambda a, b: b, lambda a, b: a),
    "div": (flambeau.div, lambda a, b: 1 / b, lambda a, b: -a / b**2),
    "sub": (flambeau.sub, lambda a, b: np.ones_like(a), lambda a, b: -np.ones_like(b)),
    "maximum": (
        flambeau.maximum,
        lambda a, b: (a > b) + (a == b) / 2,
        lambda a, b: (b > a) + (a == b) / 2,
    ),
    "logaddexp": (
        flambeau.logaddexp,
        lambda a, b: 1 / (1 + np.exp(b - a)),
        lambda a, b: 1 / (1 + np.exp(a - b)),
    ),
}


def summed(array: Any, shape: tuple[int, ...]) -> Any:
    """Over the dims that were broadcast."""
    extra = array.ndim - len(shape)
    ones = tuple(extra + d for d, size in enumerate(shape) if size == 1)
    return array.sum((*range(extra), *ones), keepdims=True).reshape(shape)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_equals_numpy(name: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    function, *derivatives = FUNCTIONS[name]
    generator = np.random.default_rng(0)
    # Of single precision, so that none are equal in one dtype alone.
    arrays = [
        generator.uniform(0.5, 2, shape).astype("float32").astype("float64") for shape in shapes
    ]
    full = np.broadcast_shapes(*shapes)
    grad = generator.standard_normal(full)
    a, b = (np.broadcast_to(array, full) for array in arrays)
    expected = [
        summed(grad * of(a, b), shape) for of, shape in zip(derivatives, shapes, strict=True)
    ]
    for dtype, tolerance in ((flambeau.float64, 1e-11), (flambeau.float32, 2e-4)):
        leaves = [flambeau.from_numpy(np.array(x)).to(dtype).requires_grad_() for x in arrays]
        seed = flambeau.from_numpy(grad).to(dtype)
        result = function(*leaves)
        for wanted in ([0, 1], [0], [1]):
            found = flambeau.autograd.grad(
                result, [leaves[i] for i in wanted], seed, retain_graph=True
            )
            for i, gradient in zip(wanted, found, strict=True):
                assert gradient.dtype is dtype
                scale = np.sqrt(grad.size / max(expected[i].size, 1))
                np.testing.assert_allclose(
                    gradient.numpy(), expected[i], rtol=tolerance, atol=tolerance * scale
                )


def test_the_same_with_any_number_of_threads() -> None:
    a = flambeau.rand(900, 1, requires_grad=True)
    b = flambeau.rand(1, 700, requires_grad=True)
    grad, threads = flambeau.randn(900, 700), flambeau.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            flambeau.set_num_threads(count)
            results.append(flambeau.autograd.grad(a / b, (a, b), grad))
    finally:
        flambeau.set_num_threads(threads)
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            assert flambeau.equal(first, second)


def test_other_layouts() -> None:
    """Channels-last gradients, and those that repeat elements, are summed all the same."""
    x = flambeau.randn(4, 64, 40, 40).to(memory_format=flambeau.channels_last).requires_grad_()
    w = flambeau.randn(64, 1, 1, requires_grad=True)
    grad = flambeau.randn(4, 64, 40, 40)
    for seed in (grad, grad.to(memory_format=flambeau.channels_last), grad[:1, :1].expand_as(x)):
        found = flambeau.autograd.grad(x * w, (x, w), seed)
        np.testing.assert_allclose(found[0].numpy(), (seed * w).detach().numpy(), rtol=1e-6)
        wide = (seed.double() * x.double()).sum((0, 2, 3)).detach().numpy()
        np.testing.assert_allclose(found[1].numpy().ravel(), wide, rtol=1e-4, atol=1e-2)
