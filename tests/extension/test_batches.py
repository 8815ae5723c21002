"""Operators of packages under `vmap`: computed for all slices at once, gradients included."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.autograd.functional import jacobian
from flambeau.func import grad, jacrev, vmap


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """What is computed slice by slice says so."""
    flambeau.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def double(*shape: int) -> flambeau.Tensor:
    return flambeau.randn(*shape, dtype=flambeau.float64)


def test_results(example_operators: Any) -> None:
    """Elementwise, a reduction, a body, a method."""
    x, y = double(3, 4, 5), double(3, 4, 5)
    found = vmap(lambda a: example_operators.softclip(a, 2.0))(x)
    np.testing.assert_allclose(found.numpy(), 2 * np.tanh(x.numpy() / 2))
    np.testing.assert_allclose(vmap(lambda a: a.softclip(2.0))(x).numpy(), found.numpy())
    found = vmap(lambda a: example_operators.sum_of_squares(a, 1))(x)
    np.testing.assert_allclose(found.numpy(), np.sum(x.numpy() ** 2, axis=2))
    found = vmap(lambda a: example_operators.sum_of_squares(a))(x)
    np.testing.assert_allclose(found.numpy(), np.sum(x.numpy() ** 2, axis=(1, 2)))
    found = vmap(lambda a, b: example_operators.relative_error(a, b))(x, y)
    wanted = np.abs(x.numpy() - y.numpy()) / (1 + np.abs(y.numpy()))
    np.testing.assert_allclose(found.numpy(), wanted.mean(axis=(1, 2)))


def test_gradients_of_slices(example_operators: Any) -> None:
    x = double(3, 4)
    found = vmap(grad(lambda a: example_operators.softclip(a, 2.0).sum()))(x)
    np.testing.assert_allclose(found.numpy(), 1 - np.tanh(x.numpy() / 2) ** 2)
    found = vmap(grad(lambda a: example_operators.sum_of_squares(a)))(x)
    np.testing.assert_allclose(found.numpy(), 2 * x.numpy())


def test_jacobians(example_operators: Any) -> None:
    """Batches of gradients go through the graph, also through a derivative that calls the operator
    of the package.
    """
    x = double(5)
    found = jacrev(lambda a: example_operators.softclip(a, 2.0))(x)
    np.testing.assert_allclose(found.numpy(), np.diag(1 - np.tanh(x.numpy() / 2) ** 2))
    rows = double(3, 4)
    found = jacrev(lambda a: example_operators.sum_of_squares(a, 0))(rows)
    wanted = np.zeros((4, 3, 4))
    for column in range(4):
        wanted[column, :, column] = 2 * rows.numpy()[:, column]
    np.testing.assert_allclose(found.numpy(), wanted)


def test_the_graph_is_gone_through_once(example_operators: Any) -> None:
    """is_grads_batched, and a kernel that is written by hand: the matrix's rows."""
    bands = double(3, 4)
    vec = double(4).requires_grad_()
    matrix = np.diag(bands.numpy()[1])
    matrix += np.diag(bands.numpy()[0, 1:], -1) + np.diag(bands.numpy()[2, :-1], 1)
    result = example_operators.tridiagonal_mv(bands, vec)
    cotangents = flambeau.eye(4, dtype=flambeau.float64)
    with pytest.warns(UserWarning, match="tridiagonal_mv has no batching rule"):
        (found,) = flambeau.autograd.grad(result, vec, cotangents, is_grads_batched=True)
    np.testing.assert_allclose(found.numpy(), matrix)
    found = jacobian(lambda v: example_operators.softclip(v), vec.detach(), vectorize=True)
    np.testing.assert_allclose(found.numpy(), np.diag(1 - np.tanh(vec.detach().numpy()) ** 2))


SQUARE = """
- op: "changed(Tensor self) -> Tensor result"
  kind: pointwise
  dtypes: {self: float}
  expr: "self * self"
"""
DOUBLE = """
- op: "changed(Tensor self) -> Tensor result"
  kind: reduction
  dtypes: {self: float, accumulate: float32}
  reduce: {init: "0", step: "acc + 2 * x", combine: "a + b", finish: "acc"}
  shape: "[]"
  derivative: {self: "2 * expand_as(grad, self)"}
"""


def test_modules_of_one_name() -> None:
    """Loaded twice under a name: each function keeps its rule; what C++ names alone is refused."""
    first, second = flambeau.ops.load(SQUARE), flambeau.ops.load(DOUBLE)
    x = double(3, 4)
    np.testing.assert_allclose(vmap(first.changed)(x).numpy(), x.numpy() ** 2)
    with pytest.warns(UserWarning, match="changed has no batching rule"):  # it has no dims
        found = vmap(second.changed)(x)
    np.testing.assert_allclose(found.numpy(), 2 * x.numpy().sum(axis=1))
    y = x[0].requires_grad_()
    (slope,) = flambeau.autograd.grad(first.changed(y).sum(), y, create_graph=True)
    rows = flambeau.eye(4, dtype=flambeau.float64)
    (hessian,) = flambeau.autograd.grad(slope, y, rows, is_grads_batched=True)
    np.testing.assert_allclose(hessian.numpy(), 2 * np.eye(4))


def test_calls_that_are_ambiguous() -> None:
    """In a derivative C++ names the operator alone, which two modules have."""
    own = """
- op: "twice_over(Tensor self) -> Tensor result"
  kind: structured
  dtypes: {self: float}
  shape: "self.shape"
  body: "self * FACTOR"
  derivative: {self: "twice_over(grad)"}
"""
    first = flambeau.ops.load(own.replace("FACTOR", "2"))
    x = double(3).requires_grad_()
    rows = flambeau.eye(3, dtype=flambeau.float64)
    (found,) = flambeau.autograd.grad(first.twice_over(x), x, rows, is_grads_batched=True)
    np.testing.assert_allclose(found.numpy(), 2 * np.eye(3))
    flambeau.ops.load(own.replace("FACTOR", "3"))
    with pytest.raises(NotImplementedError, match="is declared by 2 modules"):
        flambeau.autograd.grad(first.twice_over(x), x, rows, is_grads_batched=True)
