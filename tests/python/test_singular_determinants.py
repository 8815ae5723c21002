"""Second derivatives of determinants where no inverse exists, against polynomials."""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import numpy as np
import pytest

import flambeau as torch

RANDOM = np.random.default_rng(2)


def polynomial(a: Any) -> Any:
    """The determinant by Leibniz's formula: multiplications alone."""
    n, total = a.shape[-1], 0
    for order in permutations(range(n)):
        swaps = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        total = total + (-1) ** swaps * prod(a[i, order[i]] for i in range(n))
    return total


def second(function: Any, matrix: Any, weights: Any) -> Any:
    leaf = torch.from_numpy(matrix).requires_grad_()
    (first,) = torch.autograd.grad(function(leaf).real, leaf, create_graph=True)
    (found,) = torch.autograd.grad((first * torch.from_numpy(weights)).sum().real, leaf)
    return first.detach().numpy(), found.numpy()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(("n", "rank"), [(2, 1), (2, 0), (3, 2), (3, 1), (4, 3), (4, 2), (4, 4)])
def test_second_derivatives(n: int, rank: int, dtype: Any) -> None:
    parts = [RANDOM.standard_normal((n, max(rank, 1))).astype(dtype) for _ in range(3)]
    if dtype is np.complex128:
        parts[0] += 1j * RANDOM.standard_normal(parts[0].shape)
    matrix = parts[0] @ parts[1].T * (rank > 0)
    weights = RANDOM.standard_normal((n, n)).astype(dtype)
    found, wanted = (second(f, matrix, weights) for f in (torch.linalg.det, polynomial))
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-12)


def test_third_derivatives_are_right_or_nan() -> None:
    def third(function: Any, matrix: Any) -> Any:
        leaf = torch.from_numpy(matrix).requires_grad_()
        (first,) = torch.autograd.grad(function(leaf), leaf, create_graph=True)
        (again,) = torch.autograd.grad((first * first).sum(), leaf, create_graph=True)
        return torch.autograd.grad((again * again).sum(), leaf)[0].numpy()

    regular, singular = RANDOM.standard_normal((3, 3)), np.ones((3, 3))
    np.testing.assert_allclose(third(torch.linalg.det, regular), third(polynomial, regular))
    assert np.isnan(third(torch.linalg.det, singular)).all()
