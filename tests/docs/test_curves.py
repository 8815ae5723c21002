"""Plots show what the library computes: values and derivatives at the points that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.plan.documentation import is_curve
from flambeau.codegen.plan.python_signature import forms
from flambeau.codegen.read.loader import library_declarations
from flambeau.docs.curves import curves_of, parameters
from flambeau.docs.drawing import picture, ticks

OWN = library_declarations().own
CURVES = [o for o in OWN if forms(o) and not o.internal and is_curve(o)]


@pytest.mark.parametrize("operator", CURVES, ids=lambda o: o.full_name)
def test_curve(operator: Operator) -> None:
    """The declaration's formula gives what the operator gives; so does its derivative."""
    name, namespace = operator.name, operator.namespace
    curves = curves_of(operator.full_name)
    space = flambeau
    for part in filter(None, namespace.split(".")):
        space = getattr(space, part)
    x = flambeau.tensor(curves.x, dtype=flambeau.float64, requires_grad=True)
    tensor = operator.tensor_arguments[0].name.replace("self", "input")
    y = getattr(space, name)(**{tensor: x}, **parameters(operator))
    np.testing.assert_allclose(y.detach().numpy(), curves.y, rtol=1e-6, atol=1e-9)
    if curves.slope is not None:
        (slope,) = flambeau.autograd.grad(y.sum(), x)
        shown = np.isfinite(curves.y)
        np.testing.assert_allclose(slope.numpy()[shown], curves.slope[shown], rtol=1e-5, atol=1e-8)


def test_curves_are_many() -> None:
    assert len(CURVES) > 50


def test_picture_breaks_at_poles() -> None:
    """tan has strokes of its own between its poles; a smooth function has one."""
    tan, sigmoid = (
        picture(curves_of(n), n).split('class="plot-function" d="')[1].split('"')[0]
        for n in ("tan", "sigmoid")
    )
    assert tan.count("M") >= 3
    assert sigmoid.count("M") == 1


@pytest.mark.parametrize(("low", "high"), [(-4, 4), (0, 0.07), (-250, 250), (0.1, 1.1)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 3 <= len(found) <= 8
    assert all(low - 1e-9 <= t <= high + 1e-9 for t in found)
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0])


def test_unknown_operator() -> None:
    with pytest.raises(LookupError, match="no operator 'nothing' to plot"):
        curves_of("nothing")
