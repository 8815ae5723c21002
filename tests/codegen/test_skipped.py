"""Which dear parts of formulas loops may skip, and what is left."""

from __future__ import annotations

import pytest

from flambeau.codegen.formula.functions import DEAR, load_functions
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.plan.kernels import cost
from flambeau.codegen.plan.skipped import skipped


@pytest.mark.parametrize(
    ("formula", "needs", "rest"),
    [
        ("x if x > 0 else alpha * expm1(x)", "not x > 0", "x"),
        ("exp(x) if x <= p else maximum(x, 2)", "x <= p", "maximum(x, 2)"),
        ("2 * (x if x > 0 else 3 * expm1(x))", "not x > 0", "2 * x"),
        ("nan if isnan(x) else -x * log(x) if x > 0 else 0", "x > 0", "nan if isnan(x) else 0"),
    ],
)
def test_what_is_left(formula: str, needs: str, rest: str) -> None:
    found = skipped(parse_source(formula), {"x"})
    assert found is not None
    assert found.needs == parse_source(needs)
    assert found.rest == parse_source(rest)


@pytest.mark.parametrize(
    "formula",
    [
        "0 if x == 0 else x * log(x)",  # what equals a number is rare
        "exp(x) if x > 0 else sin(x)",
        "x if p > 0 else exp(x)",  # known before the loop
        "exp(x) + (x if x > 0 else expm1(x))",
        "x if exp(x) > 2 else expm1(x)",
        "x / 3 / x / x if x > 1 else x * x",
        "maximum(x, 0) if x > 0 else abs(x)",
    ],
)
def test_nothing_to_skip(formula: str) -> None:
    assert skipped(parse_source(formula), {"x"}) is None


def test_what_a_call_costs() -> None:
    """Thread counts and ways of loops follow from it."""
    of_x = frozenset({"x"})
    assert cost((parse_source("minimum(maximum(x, a), b)"),), of_x) == 2
    assert cost((parse_source("exp(x) + abs(x)"),), of_x) == DEAR + 2
    # What reads no element is computed once; a draw is one of each element.
    assert cost((parse_source("x * exp(a / 2)"),), of_x) == 1
    assert cost((parse_source("x if uniform() < exp(a) else 0"),), of_x) > 0
    cheap = [f for f in load_functions().values() if f.cost < DEAR]
    assert all(f.written_in is None and f.level == "element" for f in cheap)
