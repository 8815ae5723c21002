"""Which lets of a body wait until a branch reads them."""

from __future__ import annotations

import pytest
from support import load_text

from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.tensor.later import later_lets

DECLARED = """
- {op: "exp(Tensor self) -> Tensor result", kind: pointwise, expr: "exp(self)", derivative: auto}
- {op: "fill_(Tensor(mut) self, Scalar value) -> None", kind: structured, derivative: none}
- {op: "noise(Tensor self) -> Tensor result", kind: pointwise, random: philox, expr: "uniform()",
   derivative: none}
- {op: "noisy(Tensor self) -> Tensor result", kind: composite, body: "noise(self)"}
"""
LETS = [
    ('{a: "exp(self)"}', "a if wide else self", {"a"}),
    ('{a: "exp(self)"}', "a if wide else exp(a)", set()),  # both branches read it
    ('{a: "exp(self)"}', "self if a.dim > 1 else exp(self)", set()),  # so does the condition
    ('{a: "exp(self)", b: "exp(a)"}', "b if wide else self", {"a", "b"}),
    ('{a: "exp(self)", b: "exp(a)"}', "b if wide else a", {"a", "b"}),  # through b: no harm is done
    ('{a: "exp(self)", b: "exp(a)"}', "exp(b) + (a if wide else self)", set()),
    ('{n: "self.dim + 1"}', "exp(self) if n > 1 or wide else self", set()),  # no operator is called
    ('{a: "exp(self)"}', "self if wide or a.dim > 1 else self", {"a"}),
    ('{a: "[exp(self) for i in range(2)]"}', "a[0] if wide else self", {"a"}),
    ('{a: "exp(self)"}', "[exp(a) for i in range(self.dim)][0]", {"a"}),  # perhaps of no items
    # What writes or draws, itself or inside, keeps its place.
    ('{a: "exp(self)", b: "fill_(self, 1)"}', "a if wide else self", set()),
    ('{a: "noise(self)", b: "exp(self)"}', "a if wide else exp(b)", set()),
    ('{a: "noisy(self)"}', "a if wide else self", set()),
]


@pytest.mark.parametrize(("lets", "result", "expected"), LETS)
def test_lets_that_some_branch_does_without(lets: str, result: str, expected: set[str]) -> None:
    text = f"""
- op: "chosen(Tensor self, bool wide) -> Tensor result"
  kind: composite
  body:
    let: {lets}
    result: "{result}"
"""
    loaded, _ = load_text(DECLARED + text, "made_up.yaml")
    index = OperatorIndex(loaded.declarations.operators)
    (operator,) = index.overloads("chosen")
    assert later_lets(operator, index) == expected
