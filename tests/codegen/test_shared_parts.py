"""What gradients of several arguments compute once."""

from __future__ import annotations

import pytest

from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.plan.shared_parts import shared_parts

CASES = [
    (["exp(g) * x", "exp(g) * y"], ["exp(g)"]),
    (["exp(g) * x", "log(g) * y"], []),
    (["exp(g) + exp(g)", "g"], []),  # of one formula alone
    (["exp(g) if wide else g", "(exp(g) if wide else g) * x"], ["exp(g) if wide else g"]),
    (["exp(g) if wide else g", "exp(g)"], []),  # not whichever branch is taken
    (["parts(g, x)[0]", "parts(g, x)[1]"], ["parts(g, x)"]),
    # Of a part, what stands outside of it too, or in another.
    (["log(exp(g))", "log(exp(g)) * x"], ["log(exp(g))"]),
    (["log(exp(g))", "log(exp(g)) * exp(g)"], ["exp(g)", "log(exp(g))"]),
    (
        ["sin(exp(g)) * x", "sin(exp(g)) * cos(exp(g))", "cos(exp(g)) * x"],
        ["exp(g)", "cos(exp(g))", "sin(exp(g))"],
    ),
]


@pytest.mark.parametrize(("formulas", "expected"), CASES)
def test_parts_that_several_formulas_compute(formulas: list[str], expected: list[str]) -> None:
    found = shared_parts([parse_source(formula) for formula in formulas])
    assert sorted(map(str, found)) == sorted(str(parse_source(part)) for part in expected)
    assert [part.size for part in found] == sorted(part.size for part in found)
