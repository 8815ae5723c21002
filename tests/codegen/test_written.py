"""What calls write into is computed for each of them."""

from __future__ import annotations

import pytest
from support import load_text

from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.model.types import TENSOR
from flambeau.codegen.plan.shared_parts import shared_parts
from flambeau.codegen.tensor.to_cpp import Symbol, emit_tensor
from flambeau.codegen.tensor.written import written_values

DECLARED = """
- {op: "plus(Tensor self, Tensor|Scalar other) -> Tensor result", kind: pointwise, operator: "+",
   expr: "self + other", derivative: none}
- {op: "turned(Tensor self) -> Tensor result", kind: pointwise, variants: [function, inplace],
   expr: "-self", derivative: none}
- {op: "copied(Tensor self) -> Tensor result", kind: structured, derivative: none}
- {op: "grow_(Tensor(mut) self, Tensor other) -> None", kind: structured, derivative: none}
"""


@pytest.fixture(scope="module")
def index() -> OperatorIndex:
    loaded, _ = load_text(DECLARED, "made_up.yaml")
    return OperatorIndex(loaded.declarations.operators)


@pytest.mark.parametrize(
    ("formula", "copies"),
    [
        ("copied(x) + copied(x)", 1),  # nothing writes into it
        ("grow_(copied(x), x) + grow_(copied(x), y)", 2),
        ("grow_(copied(x), y) + copied(x)", 2),  # the one that is read is as it was
        ("grow_(other=y, self=copied(x)) + copied(x)", 2),
        ("grow_(x, copied(y)) + grow_(y, copied(y))", 1),
        ("grow_(copied(x), y) + grow_(copied(x), y)", 1),  # one and the same result
        ("turned_(copied(x)) + copied(x)", 2),
        ("grow_(grow_(copied(x), y), x) + grow_(copied(x), y)", 2),
    ],
)
def test_each_writes_into_a_value_of_its_own(
    index: OperatorIndex, formula: str, copies: int
) -> None:
    scope = {name: Symbol(name, TENSOR) for name in "xy"}
    emitted = emit_tensor(parse_source(formula), scope, index)
    assert "\n".join([*emitted.statements, emitted.code]).count("copied(") == copies


def test_gradients_share_none_of_them(index: OperatorIndex) -> None:
    formulas = [parse_source("grow_(copied(x), x)"), parse_source("grow_(copied(x), y)")]
    written = written_values(formulas, index)
    assert written == {parse_source("copied(x)")}
    assert shared_parts(formulas) == [parse_source("copied(x)")]
    assert shared_parts(formulas, written) == []
