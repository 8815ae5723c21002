"""In-place operators that save their result, on views: derivatives of derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "slice": lambda x: x[1:4],
    "strided": lambda x: x[::2],
    "matrix": lambda x: x.view(2, 3)[:, 1],
    "transposed": lambda x: x.view(2, 3).T[1],
    "view of a view": lambda x: x[1:][:3],
}
# f and its first three derivatives, from NumPy alone.
FUNCTIONS: dict[
    str, tuple[Callable[[Tensor], Tensor], list[Callable[[np.ndarray], np.ndarray]]]
] = {
    "exp": (lambda x: x.exp_(), [np.exp, np.exp, np.exp, np.exp]),
    "sigmoid": (
        lambda x: x.sigmoid_(),
        [
            lambda x: 1 / (1 + np.exp(-x)),
            lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2,
            lambda x: np.exp(-x) * (np.exp(-x) - 1) / (1 + np.exp(-x)) ** 3,
        ],
    ),
    "tanh": (
        lambda x: x.tanh_(),
        [np.tanh, lambda x: 1 / np.cosh(x) ** 2, lambda x: -2 * np.tanh(x) / np.cosh(x) ** 2],
    ),
    "sqrt": (
        lambda x: x.sqrt_(),
        [np.sqrt, lambda x: 0.5 / np.sqrt(x), lambda x: -0.25 * x**-1.5],
    ),
    "reciprocal": (
        lambda x: x.reciprocal_(),
        [lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3, lambda x: -6 / x**4],
    ),
    "mul": (lambda x: x.mul_(x.clone()), [lambda x: x**2, lambda x: 2 * x, lambda x: 2 + 0 * x]),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_higher_derivatives(function: str, view: str) -> None:
    write, expected = FUNCTIONS[function]
    values = np.linspace(0.3, 1.8, 6)
    x = flambeau.tensor(values, requires_grad=True)
    y = x * 1
    write(VIEWS[view](y))
    selected = VIEWS[view](flambeau.arange(6)).numpy()
    wanted = values.copy()
    wanted[selected] = expected[0](values[selected])
    np.testing.assert_allclose(y.detach().numpy(), wanted)
    grad = y
    for order, derivative in enumerate(expected[1:], 1):
        (grad,) = flambeau.autograd.grad(grad.sum(), x, create_graph=True)
        wanted = np.full(6, 1.0 if order == 1 else 0.0)
        wanted[selected] = derivative(values[selected])
        np.testing.assert_allclose(grad.detach().numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_second_derivative_that_frees_the_graph(function: str, view: str) -> None:
    """Of h = f^2: the sum of g^2, where g = h' = 2 f f', has the gradient 2 g g'."""
    write, (f, first, second, *_) = FUNCTIONS[function]
    values = np.linspace(0.3, 1.8, 6)
    x = flambeau.tensor(values, requires_grad=True)
    y = x * 1
    write(VIEWS[view](y))
    (g,) = flambeau.autograd.grad((y * y).sum(), x, create_graph=True)
    (g * g).sum().backward()
    selected = VIEWS[view](flambeau.arange(6)).numpy()
    wanted = 8 * values
    at = values[selected]
    wanted[selected] = 8 * f(at) * first(at) * (first(at) ** 2 + f(at) * second(at))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_the_graph_is_freed_once_and_says_so() -> None:
    x = flambeau.ones(3, requires_grad=True)
    y = x * 1
    y[1:].exp_()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="freed by an earlier backward"):
        y.sum().backward()


def test_a_second_write_is_noticed() -> None:
    x = flambeau.ones(3, requires_grad=True)
    y = x * 1
    view = y[1:]
    view.exp_()
    view.mul_(2)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()


def test_functions_that_save_what_they_wrote() -> None:
    class Exp(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.exp_()
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            (result,) = ctx.saved_tensors
            return grad * result

    values = np.array([0.5, 1.0, 1.5])
    x = flambeau.tensor(values, requires_grad=True)
    y = x * 1
    Exp.apply(y[1:])
    grad = y
    for order in (1, 2, 3):
        (grad,) = flambeau.autograd.grad(grad.sum(), x, create_graph=True)
        first = 1.0 if order == 1 else 0.0
        np.testing.assert_allclose(grad.detach().numpy(), [first, *np.exp(values[1:])])


def test_a_constant_written_over_what_was_recorded() -> None:
    """An operator without a derivative leaves nothing of what it overwrites."""
    x = flambeau.tensor([0.5, 0.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"logical_and_\(\): self is a leaf"):
        x.logical_and_(flambeau.ones(3))
    y = x * 1
    y[1:].logical_not_()
    assert y.tolist() == [0.5, 1.0, 0.0]
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 0.0, 0.0]


def test_views_of_integers_have_a_base() -> None:
    x = flambeau.arange(6)
    for view in (x.view(2, 3), x[1:], x[1:][1:], x.unbind()[0], x.view(3, 2).T):
        assert view._base is x and view._is_view()
    assert x.clone()._base is None and not x.is_floating_point()
    with flambeau.no_grad():
        view = x.view(2, 3)
    view.add_(1)  # nothing is recorded that could be wrong
    x.split(3)[0].mul_(2)
    assert view._base is x and x.tolist() == [2, 4, 6, 4, 5, 6]


def test_an_imaginary_part_is_not_dropped() -> None:
    places = flambeau.tensor([0])
    for dtype in (flambeau.float32, flambeau.bfloat16, flambeau.int64):
        x = flambeau.ones(2, dtype=dtype)
        for call in (
            lambda x: x.fill_(1 + 2j),
            lambda x: x.index_fill_(0, places, 1 + 2j),
            lambda x: x.scatter_(0, places, 1 + 2j),
            lambda x: flambeau.full((2,), 2j, dtype=x.dtype),
            lambda x: x.new_full((2,), 2j),
        ):
            with pytest.raises(RuntimeError, match="imaginary part|does not fit"):
                call(x)
        assert x.fill_(3 + 0j).tolist() == [3, 3]


def test_a_complex_number_is_a_truth_value() -> None:
    """It is false where both of its parts are 0."""
    for number in (1j, 0j, 2 + 0j):
        x = flambeau.zeros(3, dtype=flambeau.bool)
        x[0] = number
        mask = flambeau.tensor([False, True, False])
        assert x.masked_fill(mask, number).tolist() == [bool(number)] * 2 + [False]
        assert x.fill_(number).tolist() == [bool(number)] * 3
        assert flambeau.full((1,), number, dtype=flambeau.bool).item() is bool(number)
