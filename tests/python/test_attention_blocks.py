"""Attention in blocks of scores: lengths around the edges of blocks, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.nn.functional import scaled_dot_product_attention as attention

# Queries, keys, features and values, around blocks of 48 by 128 and vectors of 16; halves are
# multiplied in pairs where features and values are even.
SIZES = [
    (1, 1, 1, 1),
    (47, 129, 5, 3),
    (48, 128, 16, 64),
    (49, 127, 33, 17),
    (49, 127, 34, 18),
    (131, 301, 8, 40),
    (130, 300, 8, 40),
    (300, 130, 8, 33),
]
TOLERANCES = {"float64": 1e-12, "float32": 2e-5, "float16": 1e-2, "bfloat16": 6e-2}

Array = np.ndarray[Any, Any]


def _in_blocks(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    """Attention in blocks however few scores there are; the public function takes many that way."""
    heads = [x.reshape(-1, *x.shape[-2:]) for x in (query, key, value)]
    result = flambeau._C._internal.attention_of_heads(*heads, query.shape[-1] ** -0.5, is_causal)
    return result.reshape(*query.shape[:-1], value.shape[-1])


def _numbers(tensor: Any) -> Array:
    return np.asarray(tensor.detach().to(flambeau.float64).numpy())


def _expected(query: Array, key: Array, value: Array, grad: Array, causal: bool) -> list[Array]:
    """The result and the gradients of query, key and value."""
    scale = query.shape[-1] ** -0.5
    scores = query @ key.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    slope = grad @ value.swapaxes(-1, -2)
    slope = weights * (slope - (weights * slope).sum(-1, keepdims=True)) * scale
    return [
        weights @ value,
        slope @ key,
        slope.swapaxes(-1, -2) @ query,
        weights.swapaxes(-1, -2) @ grad,
    ]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_blocks(sizes: tuple[int, int, int, int], causal: bool, dtype: str) -> None:
    rows, columns, features, values = sizes
    flambeau.manual_seed(0)
    kind = getattr(flambeau, dtype)
    shapes = (rows, features), (columns, features), (columns, values), (rows, values)
    *inputs, grad = (flambeau.randn(2, 3, *shape).to(kind) for shape in shapes)
    for tensor in inputs:
        tensor.requires_grad_()
    result = _in_blocks(*inputs, is_causal=causal)
    found = [result, *flambeau.autograd.grad(result, inputs, grad)]
    expected = _expected(*map(_numbers, (*inputs, grad)), causal)
    for got, wanted in zip(found, expected, strict=True):
        scale = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(_numbers(got), wanted, rtol=0, atol=TOLERANCES[dtype] * scale)


@pytest.mark.parametrize("causal", [False, True])
def test_as_with_a_mask_to_the_second_order(causal: bool) -> None:
    """A mask takes the way of scores in memory: both have the same derivatives."""
    flambeau.manual_seed(1)
    shapes = (5, 3), (7, 3), (7, 2), (5, 2)
    *inputs, grad = (flambeau.randn(2, *s, dtype=flambeau.float64) for s in shapes)
    directions = [flambeau.randn_like(x) for x in inputs]
    for tensor in (*inputs, grad):
        tensor.requires_grad_()
    seen = flambeau.ones(5, 7, dtype=flambeau.bool)
    mask = seen.tril() if causal else seen

    def second(attend: Any, **options: Any) -> list[Array]:
        result = attend(*inputs, **options)
        first = flambeau.autograd.grad(result, inputs, grad, create_graph=True)
        slope = sum((a * b).sum() for a, b in zip(first, directions, strict=True))
        return [_numbers(x) for x in flambeau.autograd.grad(slope, (*inputs, grad))]

    def tangent(attend: Any, **options: Any) -> list[Array]:
        def gradients(*given: Any) -> Any:
            return flambeau.func.vjp(lambda *x: attend(*x, **options), *given)[1](grad.detach())

        plain = tuple(x.detach() for x in inputs)
        return [_numbers(x) for x in flambeau.func.jvp(gradients, plain, tuple(directions))[1]]

    for order in (second, tangent):
        found, expected = order(_in_blocks, is_causal=causal), order(attention, attn_mask=mask)
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def test_strided_and_expanded() -> None:
    """Enough scores for the public function to take them in blocks."""
    flambeau.manual_seed(2)
    query = flambeau.randn(2, 500, 3, 8).transpose(1, 2)
    key = flambeau.randn(2, 3, 8, 140).transpose(2, 3)
    value = flambeau.randn(1, 1, 140, 16).expand(2, 3, 140, 16)[..., ::2]
    dense = [x.contiguous() for x in (query, key, value)]
    found = attention(query, key, value, is_causal=True)
    assert flambeau.equal(found, attention(*dense, is_causal=True))
    expected = _expected(*map(_numbers, dense), np.zeros((2, 3, 500, 8)), True)[0]
    np.testing.assert_allclose(_numbers(found), expected, atol=1e-5)


def test_threads_do_not_change_gradients() -> None:
    """Fewer heads than threads are divided in another way, with sums in the same order."""
    flambeau.manual_seed(3)
    inputs = [flambeau.randn(1, 1, 200, 8).requires_grad_() for _ in range(3)]
    before, found = flambeau.get_num_threads(), []
    try:
        for threads in (1, 3):
            flambeau.set_num_threads(threads)
            result = _in_blocks(*inputs, is_causal=True)
            found.append([result, *flambeau.autograd.grad(result.sum(), inputs)])
    finally:
        flambeau.set_num_threads(before)
    for one, three in zip(*found, strict=True):
        assert flambeau.equal(one, three)


def test_scores_of_minus_infinity_in_a_whole_block() -> None:
    """A block without weight comes before one with it."""
    query, key = flambeau.ones(1, 1, 1), flambeau.zeros(1, 130, 1)
    key[:, :128] = -float("inf")
    value = flambeau.arange(130.0).view(1, 130, 1)
    assert _in_blocks(query, key, value).item() == 128.5


@pytest.mark.parametrize("shapes", [((0, 4), (3, 4)), ((2, 4), (0, 4)), ((2, 0), (3, 0))])
def test_empty(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    (rows, features), (columns, _) = shapes
    inputs = [flambeau.randn(2, n, w) for n, w in ((rows, features), (columns, features))]
    result = attention(*inputs, flambeau.ones(2, columns, 5), is_causal=True)
    expected = 1.0 if columns else 0.0
    assert result.shape == (2, rows, 5)
    np.testing.assert_allclose(_numbers(result), np.full((2, rows, 5), expected))


@pytest.mark.parametrize("causal", [False, True])
def test_memory_is_linear_in_the_sequence(causal: bool) -> None:
    """Of 3000 by 3000 scores none is kept: forward and backward stay far below their 36 MB."""
    inputs = [flambeau.randn(1, 3000, 4).requires_grad_() for _ in range(3)]
    flambeau.cpu.reset_peak_memory_stats()
    before = flambeau.cpu.memory_allocated()
    attention(*inputs, is_causal=causal).sum().backward()
    assert flambeau.cpu.max_memory_allocated() - before < 4 << 20
