"""Batches of one kind again and again: what is done from the third call on is what is done at
first, and depends on nothing that may have changed.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn, vmap
from flambeau.func import _batch_plans, _batch_rules, _batching, grad, jacrev
from flambeau.nn import functional


@pytest.fixture(autouse=True)
def no_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batch_plans, "_plans", {})


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return flambeau.tensor(np.random.default_rng(seed).normal(size=shape))


def thrice(compute: Callable[[], Any]) -> Any:
    """What the third call gives: the first that is done by a plan."""
    return [compute() for _ in range(3)][-1]


def plans() -> int:
    return sum(callable(plan) for plan in _batch_plans._plans.values())


@pytest.fixture
def formulas(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators whose entries are asked how they compute a batch."""
    asked: list[str] = []
    inner = _batching._by_entry

    def spy(level: Any, func: Any, key: str, *rest: Any) -> Any:
        asked.append(key)
        return inner(level, func, key, *rest)

    monkeypatch.setattr(_batching, "_by_entry", spy)
    return asked


def test_entries_are_asked_twice(formulas: list[str]) -> None:
    weight, bias = numbers(3, 5), numbers(3)
    layer = vmap(lambda w, x: functional.linear(x, w, bias).softmax(-1).square().sum())
    for seed in range(5):
        x, weights = numbers(4, 2, 5, seed=seed), weight * numbers(4, 1, 1, seed=seed)
        found = layer(weights, x)
        for row, w, slice_ in zip(found, weights, x, strict=True):
            scores = (slice_ @ w.T + bias).numpy()
            shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
            np.testing.assert_allclose(row.numpy(), (shares**2).sum(), rtol=1e-12)
        seen = formulas.copy()
        formulas.clear()
        assert bool(seen) is (seed < 2), seed


def test_layers_that_draw_nothing_now_are_planned(formulas: list[str]) -> None:
    layer = vmap(lambda x: 1 - functional.dropout(functional.layer_norm(x, (5,)), 0.5, False))
    for seed in range(3):
        x = numbers(4, 2, 5, seed=seed)
        formulas.clear()
        rows = x.numpy()
        centred = rows - rows.mean(-1, keepdims=True)
        wanted = 1 - centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(layer(x).numpy(), wanted, rtol=1e-9)
    assert formulas == []
    training = vmap(lambda x: functional.dropout(x, 0.5, True), randomness="different")
    found = [training(flambeau.ones(2, 200)) for _ in range(4)]
    assert all((a != b).any() for a, b in pairwise(found))


def test_gradients_of_samples_are_those_of_one_after_the_other(formulas: list[str]) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return functional.cross_entropy(flambeau.func.functional_call(model, parameters, (x,)), y)

    for seed in range(4):
        x, y = numbers(5, 3, seed=seed), flambeau.tensor([0, 1, seed % 2, 1, 0])
        formulas.clear()
        found = vmap(grad(loss), (None, 0, 0))(parameters, x, y)
        for row in range(5):
            alone = grad(loss)(parameters, x[row], y[row])
            for name, gradient in alone.items():
                np.testing.assert_allclose(found[name][row].numpy(), gradient.numpy(), rtol=1e-9)
    assert formulas == []


def test_one_tensor_twice_is_not_two_tensors() -> None:
    x, y = numbers(3, 2), numbers(3, 2, seed=1)
    square, product = vmap(lambda a: a * a), vmap(lambda a, b: a * b)
    for _ in range(4):
        np.testing.assert_array_equal(square(x).numpy(), x.numpy() ** 2)
        np.testing.assert_array_equal(product(x, y).numpy(), x.numpy() * y.numpy())
    for _ in range(4):
        np.testing.assert_array_equal(product(y, x).numpy(), x.numpy() * y.numpy())
        np.testing.assert_array_equal(square(y).numpy(), y.numpy() ** 2)


@pytest.mark.parametrize("options", [(1, True, 1.0), (0.0, -0.0), (2, 2.0, 2 + 0j)], ids=str)
def test_numbers_that_are_equal_are_not_the_same(options: tuple[Any, ...]) -> None:
    x = flambeau.tensor([[-1, 0], [-3, 0]])
    for _ in range(4):
        for number in options:
            found = vmap(lambda a, n=number: 1 / (a * n))(x)
            wanted = 1 / (x * number)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_shapes_dtypes_and_layouts_have_plans_of_their_own() -> None:
    function = vmap(lambda a: a.reshape(-1).cumsum(0))
    for _ in range(3):
        turned = numbers(4, 3, 2).movedim(2, 0)
        for x in (numbers(2, 4, 3), numbers(3, 2, 4), numbers(2, 4, 3).float(), turned):
            wanted = np.stack([row.numpy().reshape(-1).cumsum() for row in x])
            np.testing.assert_allclose(function(x).numpy(), wanted, rtol=1e-5)


def test_the_default_dtype_counts() -> None:
    halves = vmap(lambda a: functional.softmax(a / 2, 0))
    x = flambeau.tensor([[1, 2], [3, 5]])
    for _ in range(3):
        assert halves(x).dtype is flambeau.float32
        flambeau.set_default_dtype(flambeau.float64)
        try:
            assert halves(x).dtype is flambeau.float64
        finally:
            flambeau.set_default_dtype(flambeau.float32)


def test_autocast_counts() -> None:
    x, w = numbers(3, 2, 4).float(), numbers(5, 4).float()
    layer = vmap(lambda a: functional.linear(a, w))
    for _ in range(3):
        assert layer(x).dtype is flambeau.float32
        with flambeau.autocast("cpu"):
            assert layer(x).dtype is flambeau.bfloat16


def test_random_numbers_are_drawn_each_time() -> None:
    noisy = vmap(lambda a: functional.dropout(a, 0.5) + a.bernoulli(), randomness="different")
    x = flambeau.full([2, 200], 0.5)
    found = [noisy(x) for _ in range(4)]
    assert all((a != b).any() for a, b in pairwise(found))
    assert all((each[0] != each[1]).any() for each in found)


def test_what_is_written_is_written_each_time() -> None:
    def count(a: Tensor) -> Tensor:
        total = flambeau.zeros_like(a)
        for _ in range(3):
            total.add_(a).mul_(2)
        return functional.relu(total, inplace=True)

    for seed in range(4):
        x = numbers(3, 2, seed=seed)
        np.testing.assert_allclose(vmap(count)(x).numpy(), np.maximum(14 * x.numpy(), 0))


def test_shapes_that_elements_decide_are_never_planned() -> None:
    def used(a: Tensor) -> Tensor:
        return a.bincount(minlength=3)

    for row, wanted in [([0, 1], [1, 1, 0]), ([2, 2], [0, 0, 2])] * 3:
        assert vmap(used)(flambeau.tensor([row]))[0].tolist() == wanted
    with pytest.raises(RuntimeError, match="depends on the elements"):
        vmap(used)(flambeau.tensor([[0, 1], [4, 4]]))


def test_a_warning_names_the_line_that_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batch_rules, "_warned", set())
    with pytest.warns(UserWarning, match="bincount has no batching rule") as caught:
        vmap(lambda a: a.bincount(minlength=3))(flambeau.tensor([[0, 1]]))
    assert caught[0].filename == __file__


def test_errors_come_each_time() -> None:
    for size in (4, 5):
        weight = numbers(2, size)
        for _ in range(4):
            if size == 4:
                thrice(lambda w=weight: vmap(lambda a: functional.linear(a, w))(numbers(3, 4)))
            else:
                with pytest.raises(RuntimeError, match="do not multiply"):
                    vmap(lambda a, w=weight: functional.linear(a, w))(numbers(3, 4))
    targets = flambeau.tensor([0, 1, 7])
    losses = vmap(lambda a, y: functional.cross_entropy(a, y))
    thrice(lambda: losses(numbers(3, 4), targets.clamp(max=3)))
    with pytest.raises(IndexError, match="7"):
        losses(numbers(3, 4), targets)


def test_levels_within_levels() -> None:
    pairs = vmap(vmap(lambda a, b: (a - b).square().sum().sqrt(), (None, 0)), (0, None))
    for seed in range(4):
        x, y = numbers(3, 2, seed=seed), numbers(4, 2, seed=seed + 9)
        wanted = np.linalg.norm(x.numpy()[:, None] - y.numpy()[None], axis=-1)
        np.testing.assert_allclose(pairs(x, y).numpy(), wanted)
    curve = vmap(jacrev(grad(lambda a: (a**3).sum() + a.prod())))
    for seed in range(4):
        x = numbers(3, 2, seed=seed)
        wanted = np.stack([[[6 * a, 1], [1, 6 * b]] for a, b in x.tolist()])
        np.testing.assert_allclose(curve(x).numpy(), wanted, atol=1e-12)


def test_plans_hold_no_tensors() -> None:
    alive = []
    for _ in range(3):
        x, w = numbers(3, 4), numbers(2, 4)
        result = vmap(lambda a, w=w: functional.linear(a, w).tanh())(x)
        alive += [weakref.ref(each) for each in (x, w, result)]
    assert plans() == 2
    del x, w, result
    gc.collect()
    assert [each() for each in alive] == [None] * 9


def test_plans_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batch_plans, "_MOST", 8)
    for length in range(1, 40):
        x = numbers(2, length)
        np.testing.assert_allclose(
            thrice(lambda x=x: vmap(lambda a: a.softmax(0).sum())(x)).numpy(), 1
        )
        assert len(_batch_plans._plans) <= 8
