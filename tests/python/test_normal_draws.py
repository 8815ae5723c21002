"""Draws around means that tensors give: moments, dtypes, and that gradients do not follow them."""

from __future__ import annotations

import math

import pytest

import flambeau


def test_draws_follow_means_and_deviations_elementwise() -> None:
    flambeau.manual_seed(3)
    means = flambeau.tensor([[-5.0], [0.0], [7.0]]).expand(3, 40_000)
    deviations = flambeau.tensor([0.0, 0.5, 3.0]).repeat_interleave(40_000).view(3, 40_000)
    drawn = flambeau.normal(means, deviations)
    assert (drawn[0] == -5).all()
    for row, (mean, deviation) in enumerate(((0.0, 0.5), (7.0, 3.0)), start=1):
        error = deviation / math.sqrt(40_000)
        assert abs(drawn[row].mean().item() - mean) < 5 * error
        assert abs(drawn[row].std().item() / deviation - 1) < 0.02


def test_the_same_seed_gives_the_normal_numbers_scaled() -> None:
    flambeau.manual_seed(5)
    standard = flambeau.randn(1000)
    flambeau.manual_seed(5)
    drawn = flambeau.normal(flambeau.full((1000,), 2.0), flambeau.full((1000,), 3.0))
    assert flambeau.allclose(drawn, 2 + 3 * standard)


@pytest.mark.parametrize(
    ("mean", "std", "dtype"),
    [
        (flambeau.float16, flambeau.float32, flambeau.float16),
        (flambeau.float32, flambeau.float64, flambeau.float32),
        (flambeau.complex64, flambeau.float32, flambeau.complex64),
    ],
)
def test_the_result_has_the_dtype_of_the_means(
    mean: flambeau.dtype, std: flambeau.dtype, dtype: flambeau.dtype
) -> None:
    means, deviations = flambeau.zeros(2, 1, dtype=mean), flambeau.ones(3, dtype=std)
    drawn = flambeau.normal(means, deviations)
    assert (drawn.dtype, tuple(drawn.shape)) == (dtype, (2, 3))


def test_complex_draws_have_half_of_the_variance_in_each_part() -> None:
    flambeau.manual_seed(7)
    means = flambeau.full((50_000,), 1 + 2j, dtype=flambeau.complex128)
    away = flambeau.normal(means, 2.0) - means
    for part in (away.real, away.imag):
        assert abs(part.var().item() / 2 - 1) < 0.05


def test_gradients_of_means_and_deviations_are_zero() -> None:
    mean = flambeau.zeros(3, 1, requires_grad=True)
    std = flambeau.ones(4, dtype=flambeau.float64, requires_grad=True)
    flambeau.normal(mean, std).sum().backward()
    assert mean.grad is not None and std.grad is not None
    assert (tuple(mean.grad.shape), mean.grad.dtype) == ((3, 1), flambeau.float32)
    assert (tuple(std.grad.shape), std.grad.dtype) == ((4,), flambeau.float64)
    assert not mean.grad.any() and not std.grad.any()


def test_integers_are_no_means() -> None:
    with pytest.raises(RuntimeError, match=r"normal\(\): argument 'mean' has dtype int64"):
        flambeau.normal(flambeau.zeros(2, dtype=flambeau.int64), flambeau.ones(2))
    with pytest.raises(RuntimeError, match="std"):
        flambeau.normal(0.0, flambeau.tensor([-1.0]))
