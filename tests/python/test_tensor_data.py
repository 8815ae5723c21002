"""Tensor.data = ...: what becomes of gradients, saved values and views."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def leaf(values: list[float]) -> Tensor:
    return flambeau.tensor(values, requires_grad=True)


@pytest.mark.parametrize(
    "other",
    [
        lambda: flambeau.zeros(3),
        lambda: flambeau.zeros(3, dtype=flambeau.float64),
        lambda: flambeau.zeros(6)[::2],
    ],
    ids=["plain", "float64", "strided"],
)
def test_the_gradient_of_a_recorded_graph_arrives(other: Callable[[], Tensor]) -> None:
    p = leaf([1.0, 2.0, 3.0])
    y = (p * flambeau.tensor([4.0, 5.0, 6.0])).sum()
    seen: list[list[float]] = []
    p.register_hook(lambda grad: seen.append(grad.tolist()))
    p.data = other()
    y.backward()
    assert p.grad is not None
    assert p.grad.tolist() == [4, 5, 6]
    assert p.grad.dtype == p.dtype
    assert seen == [[4, 5, 6]]
    (p * 2).sum().backward()
    assert p.grad.tolist() == [6, 7, 8]


def test_gradients_of_several_graphs_add_up() -> None:
    p = leaf([1.0, 2.0])
    graphs = []
    for factor in (2.0, 30.0, 400.0):
        graphs.append((p * factor).sum())
        p.data = flambeau.full((2,), factor)
    for graph in graphs:
        graph.backward()
    assert p.grad is not None
    assert p.grad.tolist() == [432, 432]


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_was_recorded_is_what_is_differentiated(create_graph: bool) -> None:
    """d(p^3) at the values that p had when the product was computed."""
    values = np.array([1.0, -2.0, 3.0])
    p = leaf(values.tolist())
    y = (p * p * p).sum()
    p.data = flambeau.full((3,), 100.0)
    (grad,) = flambeau.autograd.grad(y, p, create_graph=create_graph)
    np.testing.assert_allclose(grad.detach().numpy(), 3 * values**2)
    if create_graph:
        (second,) = flambeau.autograd.grad(grad.sum(), p)
        np.testing.assert_allclose(second.numpy(), 6 * values)


def test_another_shape_is_an_error_in_old_graphs_only() -> None:
    p = leaf([1.0, 2.0, 3.0])
    old = (p * 2).sum()
    p.data = flambeau.ones(4)
    with pytest.raises(RuntimeError, match=r"leaf of shape \[3\] was given data of another shape"):
        old.backward()
    assert p.grad is None
    (p * 2).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [2] * 4


def test_another_shape_without_a_graph() -> None:
    p = leaf([1.0])
    p.register_hook(lambda grad: grad * 10)
    p.data = flambeau.ones(4)
    (p * 2).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [20] * 4


def test_a_grad_of_another_shape_is_not_added_to() -> None:
    p = leaf([1.0, 2.0, 3.0])
    (p * 2).sum().backward()
    p.data = flambeau.ones(1)
    with pytest.raises(RuntimeError, match=r"\.grad has shape \[3\].*\[1\]"):
        (p * 2).sum().backward()
    p.grad = None
    (p * 2).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [2]


def test_out_resizes_a_leaf() -> None:
    p = leaf([])
    with flambeau.no_grad():
        flambeau.add(flambeau.ones(3), 1, out=p)
    (p * p).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [4, 4, 4]


def test_saved_inputs_that_get_other_data() -> None:
    """An input without grad is kept as it is: a change is noticed."""
    x = flambeau.ones(3)
    w = leaf([1.0, 2.0, 3.0])
    y = (x * w).sum()
    x.data = flambeau.zeros(2)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.backward()


def test_saved_tensors_are_the_leaves_themselves() -> None:
    seen: list[bool] = []

    class Square(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append(x is p)
            return 2 * x * grad

    p = flambeau.nn.Parameter(flambeau.tensor([3.0]))
    y = Square.apply(p)
    y.backward(retain_graph=True)
    p.data = flambeau.tensor([5.0])
    y.backward()
    assert seen == [True, False]
    assert p.grad is not None
    assert p.grad.tolist() == [12]
