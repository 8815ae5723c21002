"""`_foreach_NAME`: the operator NAME of lists of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return flambeau.tensor(np.random.default_rng(seed).normal(size=shape))


@pytest.fixture
def first() -> list[Tensor]:
    return [numbers(3), numbers(2, 4, seed=1)]


@pytest.fixture
def second() -> list[Tensor]:
    return [numbers(3, seed=2), numbers(2, 4, seed=3)]


def same(found: Any, wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-12)


def test_operands_are_lists_or_the_same_for_all(first: list[Tensor], second: list[Tensor]) -> None:
    a, b = ([t.numpy() for t in each] for each in (first, second))
    pairs = list(zip(a, b, strict=True))
    same(flambeau._foreach_add(first, second), [x + y for x, y in pairs])
    same(flambeau._foreach_add(first, second, alpha=3), [x + 3 * y for x, y in pairs])
    same(flambeau._foreach_mul(first, 2), [2 * x for x in a])
    same(flambeau._foreach_mul(first, [2.0, 5.0]), [2 * a[0], 5 * a[1]])
    same(flambeau._foreach_mul(first, flambeau.tensor(2.0)), [2 * x for x in a])
    same(flambeau._foreach_lerp(first, second, 0.25), [x + (y - x) / 4 for x, y in pairs])
    same(flambeau._foreach_sqrt(tuple(map(abs, first))), [np.sqrt(np.abs(x)) for x in a])
    same(flambeau._foreach_maximum(first, 0.5), [np.maximum(x, 0.5) for x in a])
    same(flambeau._foreach_clamp_min(first, 0.5), [np.maximum(x, 0.5) for x in a])
    same(flambeau._foreach_norm(first), [np.sqrt((x * x).sum()) for x in a])
    same(flambeau._foreach_norm(first, 1), [np.abs(x).sum() for x in a])
    same(flambeau._foreach_max(first), [x.max() for x in a])
    same(flambeau._foreach_pow(2.0, first), [2**x for x in a])
    assert isinstance(flambeau._foreach_neg(first), tuple)


@pytest.mark.parametrize("value", [2.0, [2.0, 3.0], flambeau.tensor([2.0, 3.0])], ids=str)
def test_numbers_behind_the_operands(first: list[Tensor], second: list[Tensor], value: Any) -> None:
    factors = [2.0, 2.0 if isinstance(value, float) else 3.0]
    pairs = zip(first, second, factors, strict=True)
    wanted = [(x + f * y / (1 + y * y)).numpy() for x, y, f in pairs]
    below = [1 + y * y for y in second]
    same(flambeau._foreach_addcdiv(first, second, below, value), wanted)
    flambeau._foreach_addcdiv_(first, second, below, value)
    same(first, wanted)


def test_in_place_forms_return_their_list(first: list[Tensor], second: list[Tensor]) -> None:
    wanted = [(0.9 * x + 0.1 * y).numpy() for x, y in zip(first, second, strict=True)]
    assert flambeau._foreach_mul_(first, 0.9) is first
    flambeau._foreach_add_(first, second, alpha=0.1)
    same(first, wanted)
    flambeau._foreach_copy_(first, second)
    same(first, [y.numpy() for y in second])
    flambeau._foreach_zero_(first)
    assert all(not x.any() for x in first)


def test_gradients_flow(first: list[Tensor]) -> None:
    for x in first:
        x.requires_grad_()
    sum(y.sum() for y in flambeau._foreach_exp(first)).backward()
    same([x.grad for x in first], [x.exp().detach().numpy() for x in first])


def test_mistakes_are_named(first: list[Tensor]) -> None:
    with pytest.raises(RuntimeError, match=r"_foreach_add\(\): expected lists .* got 2 and 1"):
        flambeau._foreach_add(first, first[:1])
    with pytest.raises(RuntimeError, match=r"at least one, got 0"):
        flambeau._foreach_neg([])
    with pytest.raises(RuntimeError, match="got no list"):
        flambeau._foreach_neg(first[0])
    with pytest.raises(AttributeError, match="_foreach_nosuch is not in Flambeau"):
        flambeau._foreach_nosuch(first)
