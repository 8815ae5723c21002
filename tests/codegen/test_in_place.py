"""The formula that writes in place what another gives."""

from __future__ import annotations

import pytest
from support import load_text

from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.model.types import TENSOR
from flambeau.codegen.plan.in_place import in_place
from flambeau.codegen.tensor.to_cpp import Symbol, emit_tensor
from flambeau.codegen.text.source import DeclarationError

DECLARED = """
- {op: "turn(Tensor self) -> Tensor result", kind: pointwise, variants: [function, inplace],
   expr: "-self", derivative: none}
- {op: "plus(Tensor self, Tensor|Scalar other) -> Tensor result", kind: pointwise, operator: "+",
   variants: [function, inplace], expr: "self + other", derivative: none}
- {op: "plus.number(Scalar self, Tensor other) -> Tensor result", kind: pointwise,
   variants: [function], expr: "self + other", derivative: none}
- {op: "half(Tensor self) -> Tensor result", kind: pointwise, variants: [function],
   expr: "self / 2", derivative: none}
"""


@pytest.fixture(scope="module")
def index() -> OperatorIndex:
    loaded, found = load_text(DECLARED, "made_up.yaml")
    assert not found, "\n".join(d.render() for d in found)
    return OperatorIndex(loaded.declarations.operators)


@pytest.mark.parametrize(
    ("formula", "written"),
    [
        ("x", "x"),
        ("turn(x)", "turn_(x)"),
        ("plus(x, other=y)", "plus_(x, other=y)"),
        ("x + half(y)", "plus_(x, half(y))"),
        ("turn(x) if n > 0 else x", "turn_(x) if n > 0 else x"),
        ("turn(x) if n > 0 else half(x)", None),
        ("half(x)", None),  # has no form in place
        ("turn(half(x))", None),  # is not of the argument
        ("y + x", None),
        ("y", None),
        ("plus(x, half(x))", None),  # reads what it overwrites
        ("plus(x, x.dim)", "plus_(x, x.dim)"),
    ],
)
def test_formulas_end_in_a_call_in_place(
    index: OperatorIndex, formula: str, written: str | None
) -> None:
    found = in_place(parse_source(formula), "x", index)
    assert (None if found is None else str(found)) == written


def test_calls_in_place_are_spelled_so(index: OperatorIndex) -> None:
    scope = {name: Symbol(name, TENSOR) for name in "xy"}
    assert emit_tensor(parse_source("plus_(x, y)"), scope, index).code == "ops::plus_(x, y)"
    with pytest.raises(DeclarationError, match="'half' has no form in place"):
        emit_tensor(parse_source("half_(x)"), scope, index)
