"""Operators where something is special: NaN, infinities, corners, ties, nothing at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F

INF, NAN = np.inf, np.nan


def leaf(*values: float) -> Tensor:
    return flambeau.tensor(values, dtype=flambeau.float64, requires_grad=True)


def gradients(result: Tensor, *leaves: Tensor) -> list[np.ndarray]:
    found = flambeau.autograd.grad(result.sum(), leaves, create_graph=True)
    return [gradient.detach().numpy() for gradient in found]


def second(result: Tensor, x: Tensor) -> np.ndarray:
    (first,) = flambeau.autograd.grad(result.sum(), [x], create_graph=True)
    (found,) = flambeau.autograd.grad(first.sum(), [x], allow_unused=True)
    return np.zeros(x.shape) if found is None else found.numpy()


@pytest.mark.parametrize("value", [7.5, True, flambeau.tensor(7.5)], ids=["float", "bool", "0-d"])
@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "float64", "complex64"])
def test_masked_fill_keeps_the_dtype(name: str, value: Any) -> None:
    x = flambeau.tensor([0, 1, 2]).to(getattr(flambeau, name))
    mask = flambeau.tensor([True, False, True])
    expected = x.numpy().copy()
    expected[[0, 2]] = value.item() if isinstance(value, Tensor) else value
    for result in (x.masked_fill(mask, value), x.clone().masked_fill_(mask, value)):
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result.numpy(), expected)


def test_a_root_is_the_same_in_every_form() -> None:
    x = flambeau.tensor([4.0, -0.0, -INF, INF, NAN, 2.0])
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(x.numpy())
    out = flambeau.empty(6)
    for result in (x**0.5, x.clone().pow_(0.5), flambeau.pow(x, 0.5, out=out), out):
        np.testing.assert_array_equal(result.numpy(), expected)
        np.testing.assert_array_equal(np.signbit(result.numpy()[1]), True)


@pytest.mark.parametrize("exponent", [-0.5, -1.0, -1.5, -2.0, -2.5, -3.0])
@pytest.mark.parametrize("in_place", [False, True])
def test_the_slope_of_a_power_is_a_power(exponent: float, in_place: bool) -> None:
    """exponent * x ** (exponent - 1), as the C library has it, also where the power is NaN."""
    x = leaf(-INF, INF, 0.0, -0.0, 2.0, -2.0, 1e-120, -1e100, 1e100)
    result = x.clone().pow_(exponent) if in_place else x**exponent
    with np.errstate(all="ignore"):
        slopes, curves = (
            factor * np.power(x.detach().numpy(), exponent - order)
            for order, factor in ((1, exponent), (2, exponent * (exponent - 1)))
        )
    (first,) = flambeau.autograd.grad(result.sum(), [x], create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), slopes, rtol=1e-13)
    np.testing.assert_array_equal(np.signbit(first.detach().numpy()[:4]), np.signbit(slopes[:4]))
    (found,) = flambeau.autograd.grad(first.sum(), [x])
    keep = [0, 1, 2, 4, 5]  # an infinity beside 0 has the sign of whichever power was found first
    np.testing.assert_allclose(found.numpy()[keep], curves[keep], rtol=1e-13)


@pytest.mark.parametrize("function", [F.relu, F.relu6, F.hardtanh, F.softshrink, F.hardswish])
def test_gradients_pass_where_nan_passes(function: Callable[[Tensor], Tensor]) -> None:
    x = leaf(NAN, -100.0)
    result = function(x)
    np.testing.assert_array_equal(np.isnan(result.detach().numpy()), [True, False])
    assert gradients(result, x)[0][0] == 1


@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_rounded_quotients_have_gradients_of_zero(mode: str) -> None:
    x, y = leaf(1.0, 2.0, NAN, INF), leaf(0.0, INF, 2.0, INF)
    for gradient in gradients(flambeau.div(x, y, rounding_mode=mode), x, y):
        np.testing.assert_array_equal(gradient, np.zeros(4))


def test_second_derivatives_of_sums_of_exponentials_at_ties() -> None:
    x = leaf(1.0, -3.0)
    np.testing.assert_allclose(second(flambeau.logaddexp(x, x.detach()), x), [0.25, 0.25])
    expected = np.log(2) / 4
    np.testing.assert_allclose(second(flambeau.logaddexp2(x, x.detach()), x), [expected, expected])


def test_the_sign_of_an_infinite_magnitude() -> None:
    x, y = leaf(INF, -INF, INF, -2.0), flambeau.tensor([0.0, -0.0, -3.0, INF])
    result = flambeau.copysign(x, y)
    np.testing.assert_array_equal(result.detach().numpy(), [INF, -INF, -INF, 2])
    np.testing.assert_array_equal(gradients(result, x)[0], [1, 1, -1, -1])


def test_losses_without_a_square_part_have_no_second_derivative() -> None:
    x, y = leaf(1.0, 2.0), flambeau.tensor([1.0, 5.0], dtype=flambeau.float64)
    np.testing.assert_array_equal(second(F.smooth_l1_loss(x, y, beta=0.0), x), [0, 0])


def test_an_infinite_logit() -> None:
    x, y = flambeau.tensor([INF, -INF, 800.0]), flambeau.tensor([0.0, 1.0, 0.0])
    losses = F.binary_cross_entropy_with_logits(x, y, reduction="none").numpy()
    np.testing.assert_array_equal(losses[[0, 2]], [INF, 800])


def test_nothing_has_no_variance_and_no_median() -> None:
    x = flambeau.zeros(0, 2)
    for result in (x.var(correction=-1), x.std(correction=-2), x.median()):
        assert np.isnan(result.item())
    np.testing.assert_array_equal(np.isnan(x.var(0, correction=-1).numpy()), [True, True])


def test_weights_of_nothing_count_nothing() -> None:
    result = flambeau.bincount(
        flambeau.tensor([], dtype=flambeau.int64), flambeau.tensor([]), minlength=2
    )
    assert result.dtype == flambeau.int64
    np.testing.assert_array_equal(result.numpy(), [0, 0])


def test_a_score_that_is_just_far_enough_has_no_gradient() -> None:
    scores = flambeau.tensor([[2.0, 1.0, 1.5, 0.0]], requires_grad=True)
    F.multi_margin_loss(scores, flambeau.tensor([0])).backward()
    np.testing.assert_allclose(scores.grad.numpy(), [[-0.25, 0.0, 0.25, 0.0]])


def test_selected_extremes_are_found_before_they_are_converted() -> None:
    x = flambeau.tensor([3.0, -1.2, 0.5])
    assert flambeau.masked.amin(x, dtype=flambeau.int8) == -1
    assert flambeau.masked.amax(x, dtype=flambeau.bool).dtype is flambeau.bool
    assert flambeau.masked.amin(x, dtype=flambeau.uint8) == np.float32(-1.2).astype(np.int64) % 256
