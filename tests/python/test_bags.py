"""Bags of looked-up rows that offsets divide."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau
from flambeau.nn.functional import embedding_bag


def _bags(
    weight: np.ndarray, rows: np.ndarray, ends: np.ndarray, factors: np.ndarray
) -> np.ndarray:
    bounds = itertools.pairwise(ends)
    return np.stack([(factors[a:b, None] * weight[rows[a:b]]).sum(0) for a, b in bounds])


@pytest.mark.parametrize("width", [0, 1, 5, 33, 515])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_sums_of_rows(width: int, mode: str) -> None:
    random = np.random.default_rng(width)
    weight, rows = random.standard_normal((width, 11)), random.integers(0, 11, 40)
    ends = np.array([0, 3, 3, 20, 40, 40])
    sizes = np.repeat(np.diff(ends), np.diff(ends))
    factors = np.ones(40) if mode == "sum" else 1 / sizes
    table = flambeau.from_numpy(weight).T.requires_grad_()  # not contiguous
    found = embedding_bag(
        flambeau.from_numpy(rows), table, flambeau.from_numpy(ends[:-1]), mode=mode
    )
    np.testing.assert_allclose(found.detach().numpy(), _bags(weight.T, rows, ends, factors))
    seed = random.standard_normal(found.shape)
    (grad,) = flambeau.autograd.grad(found, table, flambeau.from_numpy(seed))
    wanted = np.zeros((11, width))
    np.add.at(wanted, rows, factors[:, None] * seed[np.repeat(np.arange(5), np.diff(ends))])
    np.testing.assert_allclose(grad.numpy(), wanted, atol=1e-12)


def test_numbers_that_are_not_finite() -> None:
    weight = np.array([[1.0, np.inf], [np.nan, 2.0], [3.0, 4.0]])
    found = embedding_bag(
        flambeau.tensor([0, 2, 1, 2]),
        flambeau.from_numpy(weight),
        flambeau.tensor([0, 2, 3]),
        mode="sum",
    )
    np.testing.assert_array_equal(found.numpy(), [[4, np.inf], [np.nan, 2], [3, 4]])


def test_means_of_long_bags_in_half_precision() -> None:
    rows = flambeau.zeros(5000, dtype=flambeau.int64)
    table = flambeau.ones(1, 3, dtype=flambeau.float16)
    found = embedding_bag(rows, table, flambeau.tensor([0]), mode="mean")
    np.testing.assert_allclose(found.float().numpy(), 1, rtol=2e-3)


@pytest.mark.parametrize(
    ("rows", "offsets", "named"), [([5], [0], "input"), ([-1], [0], "input"), ([1], [1], "offsets")]
)
def test_places_outside(rows: list[int], offsets: list[int], named: str) -> None:
    with pytest.raises(RuntimeError, match=rf"embedding_bag\(\): argument {named}"):
        embedding_bag(flambeau.tensor(rows), flambeau.randn(5, 3), flambeau.tensor(offsets))
