"""Formulas that choose: where no element of some needs the dear branch it is skipped, and nobody
can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import flambeau as torch

F = torch.nn.functional
LENGTHS = (1, 15, 31, 32, 33, 64, 100, 1029, 70000)


def entropy(x: Any) -> Any:
    return special.entr(x)


CHOICES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "elu": (lambda x: F.elu(x, 1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x))),
    "celu": (lambda x: F.celu(x, 2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    "selu": (
        F.selu,
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
    "softplus": (
        lambda x: F.softplus(x, 1.0, 2.0),
        lambda x: np.where(x > 2, x, np.log1p(np.exp(x))),
    ),
    "entr": (torch.special.entr, entropy),
}


def given(length: int, dtype: Any, *, skipped: str) -> Any:
    """Numbers of one sign, but for a few where `skipped` is "some"; with infinities."""
    random = np.random.default_rng(length)
    x = random.uniform(2.5, 9, length)
    x[random.integers(0, length, length // 50)] = np.inf
    if skipped == "none":
        x = -x
    elif skipped == "some":
        at = random.integers(0, length, 1 + length // 100)
        x[at] = random.choice([-1.5, 0.0, -0.0, np.nan, -np.inf, 0.25], len(at))
    return x.astype(dtype)


@pytest.mark.parametrize("skipped", ["all", "some", "none"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_equals_numpy(name: str, dtype: Any, skipped: str) -> None:
    function, reference = CHOICES[name]
    tolerance = {np.float16: 2e-3, np.float32: 1e-6, np.float64: 1e-13}[dtype]
    for length in LENGTHS:
        x = given(length, dtype, skipped=skipped)
        expected = reference(x.astype(np.float64))
        found = function(torch.from_numpy(x)).numpy().astype(np.float64)
        np.testing.assert_allclose(found, expected, tolerance, tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CHOICES)
def test_an_element_does_not_see_its_neighbours(name: str, dtype: Any) -> None:
    """To the bit, wherever one that needs the dear branch stands."""
    function, _ = CHOICES[name]
    x = torch.from_numpy(given(200, np.float64, skipped="all")).to(dtype)
    alone = function(x)
    for place in range(0, 200, 7):
        other = x.clone()
        other[place] = -1.25
        found = function(other)
        assert found[place] == function(torch.full((64,), -1.25, dtype=dtype))[3]
        found[place] = alone[place]
        assert torch.equal(found, alone)


def test_gradients_of_both_sides() -> None:
    x = torch.from_numpy(given(500, np.float64, skipped="some"))
    x = torch.where(torch.isfinite(x), x, torch.tensor(-0.5)).requires_grad_()
    F.elu(x, 1.5).sum().backward()
    values = x.detach().numpy()
    expected = np.where(values > 0, 1, 1.5 * np.exp(values))
    np.testing.assert_allclose(x.grad.numpy(), expected, 1e-12)
