"""The tests of operators can fail: planted mistakes are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from operator_calls import to_tensor
from operator_cases import Case, expected, operators
from operator_compare import difference
from operator_gradients import check_forward, check_reverse, gradient_function

from flambeau import Tensor
from flambeau.autograd import Function
from flambeau.codegen.model.entries import Kind, Operator


@pytest.fixture(scope="module")
def operator() -> Operator:
    """Some elementwise operator of one tensor."""
    return next(
        o
        for o in operators()
        if o.kind is Kind.POINTWISE and o.test.reference and len(o.signature.arguments) == 1
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a * (1 + 1e-7) + 1e-7,
        lambda a: np.where(np.arange(a.size).reshape(a.shape) == 3, np.nan, a),
        lambda a: a[:-1],
        lambda a: a.reshape(-1),
        lambda a: a + 1e-6j,
    ],
    ids=["value", "nan", "size", "rank", "complex"],
)
def test_wrong_results_are_found(operator: Operator, change: Any) -> None:
    (wanted,) = expected(operator, Case(operator, 0).values())
    assert difference(operator, [to_tensor(wanted)], [wanted], 1e-9) is None
    assert difference(operator, [to_tensor(wanted)], [change(wanted)], 1e-9) is not None


class Cube(Function):  # type: ignore[misc]
    """x**3, whose gradient is wrong by a factor."""

    factor = 1.0

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad * x * x * (3 * Cube.factor)


def cube(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
    result: Tensor = Cube.apply(inputs[0])
    return [result]


def test_wrong_gradients_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [np.random.default_rng(0).standard_normal((3, 4))]
    assert check_reverse(cube, inputs, 1) is None
    monkeypatch.setattr(Cube, "factor", 1.0001)
    assert check_reverse(cube, inputs, 1) is not None


def test_wrong_second_order_is_found() -> None:
    """A gradient that hides its own dependence on the input."""
    random = np.random.default_rng(0)
    inputs = [random.standard_normal((3, 4)), random.standard_normal((3, 4))]

    def squared(arguments: Sequence[Tensor]) -> Sequence[Tensor]:
        return [arguments[0] * arguments[0]]

    def hidden(arguments: Sequence[Tensor]) -> Sequence[Tensor]:
        return [arguments[1] * 2 * arguments[0].detach()]

    assert check_reverse(gradient_function(squared, 1), inputs, 1) is None
    assert check_reverse(hidden, inputs, 1) is not None


def test_lost_tangents_are_found() -> None:
    inputs = [np.random.default_rng(0).standard_normal((3, 4))]
    assert check_forward(lambda x: [x[0] * x[0]], inputs, 1) is None
    assert check_forward(lambda x: [x[0] * x[0].detach()], inputs, 1) is not None
