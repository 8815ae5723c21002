"""Entries that a rule makes, and what formulas give where their tensors are 0."""

from __future__ import annotations

import numpy as np
import pytest
from support import load_text

from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.formula.to_numpy import to_numpy
from flambeau.codegen.formula.zeros import is_zero_at_zero

TABLE = load_functions()
SOME = """
- op: "bend(Tensor self) -> Tensor result"
  kind: pointwise
  variants: [function, method]
  aliases: [bow]
  expr: "self / (1 + abs(self))"
  reference: "self / (1 + np.abs(self))"
- op: "lift(Tensor self) -> Tensor result"
  kind: pointwise
  expr: "self + 1"
- op: "scale(Tensor self, Tensor other) -> Tensor result"
  kind: pointwise
  expr: "self * other"
- helper: "hidden(Tensor self) -> Tensor result"
  kind: pointwise
  expr: "-self"
- each: keeps_zero
  op: "$name.sparse(Tensor self) -> Tensor result"
  kind: composite
  layouts: {self: sparse_coo, result: sparse_coo}
  body: "clone($name(self))"
"""


def test_one_entry_for_each_operator_that_keeps_zeros() -> None:
    loaded, diagnostics = load_text(SOME, "some.yaml")
    assert not len(diagnostics)
    made = [o for o in loaded.declarations.operators if o.layouts]
    assert [o.full_name for o in made] == ["bend.sparse"]
    bend = made[0]
    assert str(bend.body) == "clone(bend(self))" and bend.aliases == ("bow",)
    assert bend.variants == {"function", "method"} and bend.test.reference is not None


def test_an_unknown_rule() -> None:
    _, diagnostics = load_text(SOME.replace("keeps_zero", "keeps_zeros"), "some.yaml")
    assert any("keeps_zeros" in d.message for d in diagnostics)


@pytest.mark.parametrize(
    ("formula", "zero"),
    [
        ("-self", True),
        ("self - tanh(self)", True),
        ("maximum(self, 0)", True),
        ("maximum(self, 1)", False),
        ("self if self > 0 else 2 * expm1(self)", True),
        ("self / self", False),
        ("log(self) * 0", False),
        ("nan if isnan(self) else -self * log(self) if self > 0 else 0", True),
        ("exp(self)", False),
        ("self ** -1", False),
        ("self // 2 + self % 3", True),
        ("self if self == 0 and not self > 1 else 1", True),
        ("~(self == 0)", False),
        ("self if self < 1j else self", False),
        ("self.shape[0]", False),
    ],
)
def test_what_a_formula_gives_at_zero(formula: str, zero: bool) -> None:
    assert is_zero_at_zero(parse_source(formula), ("self",), TABLE) is zero


@pytest.mark.parametrize("name", [n for n, f in TABLE.items() if f.at_zero is not None])
def test_what_is_declared_at_zero_is_true(name: str) -> None:
    function = TABLE[name]
    names = [p.name for p in function.parameters]
    call = parse_source(f"{name}({', '.join(names)})")
    found = to_numpy(call)({n: np.zeros(1) for n in names})
    assert function.at_zero is not None
    np.testing.assert_array_equal(found, to_numpy(function.at_zero)({}))
