"""The checks that run before the compiler find planted mistakes, and only those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import load_text

from flambeau.codegen.check import derivatives
from flambeau.codegen.check.mathematics import check_mathematics
from flambeau.codegen.check.report import Context
from flambeau.codegen.check.samples import EvaluationError, sample_value
from flambeau.codegen.check.trial import Trial
from flambeau.codegen.formula import shape_rules
from flambeau.codegen.model.entries import Kind
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.text.source import DeclarationError

GOOD = """
- op: "swish(Tensor self, Tensor scale) -> Tensor result"
  kind: pointwise
  dtypes: {self: float|complex, scale: float|complex}
  expr: "self * sigmoid(scale * self)"
  derivative:
    let: {s: "sigmoid(scale * self)"}
    self: "grad * conj(s + self * s * (1 - s) * scale)"
    scale: "grad * conj(self * self * s * (1 - s))"
  reference: "self / (1 + np.exp(-scale * self))"
  samples:
    - randn(3, 1), randn(1, 4)
    - randn(0), randn(1)
  extremes: {self: [-200, -30, 0, 30, 200]}
- op: "total(Tensor self, int[]? dim=None) -> Tensor result"
  kind: structured
  derivative: {self: "spread(grad, self.shape, dim) * 1.0"}
  reference: "np.sum(self, axis=None if dim is None else tuple(dim))"
  samples:
    - randn(3, 4), dim=[1]
- op: "spread(Tensor grad_output, int[] shape, int[]? dim) -> Tensor result"
  kind: structured
  derivative: none
  reference: "np.broadcast_to(np.expand_dims(grad_output, tuple(dim)), shape)"
- op: "middle(Tensor self) -> Tensor result"
  kind: structured
  body: {let: {whole: "total(self, None)"}, result: "whole / self.numel"}
  derivative: none
  reference: "np.mean(self)"
  samples:
    - randn(3, 4)
"""


def found_in(text: str) -> list[str]:
    loaded, mistakes = load_text(text)
    assert not mistakes, mistakes
    return [d.render() for d in check_mathematics(Context.of(loaded))]


def test_a_right_declaration_passes() -> None:
    assert found_in(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('expr: "self * sigmoid', 'expr: "self * tanh', "the formula gives"),
        ("self * s * (1 - s) * scale", "self * s * (1 - s)", "the gradient of 'self' is"),
        ("conj(self * self * s * (1 - s))", "self * self * s * (1 - s)", "for complex elements"),
        ("* 1.0", "* 1.1", "total: the gradient of 'self' is"),
        ('s: "sigmoid(scale * self)"', 's: "1 / (1 + exp(-scale * self))"', None),
        (
            's: "sigmoid(scale * self)"',
            's: "exp(scale * self) / (1 + exp(scale * self))"',
            "is not finite at self = ",
        ),
        ("whole / self.numel", "whole / 2", "middle: the body gives"),
        ("np.exp(-scale", "np.frobnicate(-scale", "the reference cannot be evaluated"),
    ],
)
def test_planted_mistakes(old: str, new: str, message: str | None) -> None:
    assert GOOD.count(old) == 1
    found = found_in(GOOD.replace(old, new))
    if message is None:
        assert found == []
    else:
        assert any(message in text for text in found), found


def test_a_mistake_is_shown_where_it_stands() -> None:
    (first, *_) = found_in(GOOD.replace("self * s * (1 - s) * scale", "self * s * (1 - s)"))
    assert first.startswith("sample.yaml:8:12: error: swish: the gradient of 'self'")
    assert "^~~" in first


def test_samples_are_deterministic() -> None:
    np.testing.assert_array_equal(
        sample_value("randn(3, 4).T", 7), sample_value("randn(3, 4).T", 7)
    )
    assert sample_value("randn(3, 4).T[1:, ::2]", 0).shape == (3, 2)
    values = sample_value("[positive(2), None, 'mean', 2.5, [1, -2], True]", 0)
    assert np.all((values[0] >= 0.5) & (values[0] <= 2))
    assert values[1:] == [None, "mean", 2.5, [1, -2], True]
    assert sample_value("randint(-3, 3, 100)", 1).min() >= -3
    assert sample_value("complex_randn(2)", 1).dtype == np.complex128


@pytest.mark.parametrize(
    "source",
    [
        "np.load('secrets')",
        "np.lib.format.open_memmap('x')",
        "np.savetxt('x', [1])",
        "open('x')",
        "__import__('os')",
        "getattr(np, 'load')",
        "randn(1).tofile('x')",
        "().__class__",
        "randn(10**6, 10**6)",
        "2 ** 10 ** 10",
        "[0] * 10 ** 9",
        "[i for i in range(10 ** 9)]",
    ],
)
def test_samples_reach_nothing_else(source: str) -> None:
    with pytest.raises((EvaluationError, DeclarationError)):
        sample_value(source, 0)


def test_shape_rules() -> None:
    rules = shape_rules
    assert rules.reduced([2, 3, 4], [0, -1], True) == [1, 3, 1]
    assert rules.reduced([2, 3, 4], None, False) == []
    assert rules.broadcast([3, 1], [1, 4]) == [3, 4]
    assert not rules.broadcastable([3], [4])
    assert rules.permuted([5, 6, 7], [2, 0, 1]) == [7, 5, 6]
    assert rules.inverted([2, 0, 1]) == [1, 2, 0]
    assert rules.conv_out([8, 9], [3], [2], [1], [1]) == [4, 5]
    assert rules.pool_out([5], [2], [2], [0], [1], True) == [3]
    assert rules.conv_transpose_out([4], [3], [2], [1], [1], [1]) == [8]
    assert rules.expanded_dims([5, 3, 4], [3, 1]) == [0, 2]
    assert rules.range_length(0, 10, 3, "int64") == 4
    assert rules.range_length(0.5, 5.5, 1.5, "float32") == 4
    assert rules.range_length(0.5, 5.5, 1.5, "int64") == 5
    assert rules.range_length(0.5, 5.5, 1.5, "int32") == 4
    assert rules.is_dense([2, 1, 3], [3, 99, 1])


def test_most_gradients_of_the_library_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference that does not hold for the calls in gradients would silence the comparison: every
    reduction and most other operators that a program calls are compared with differences.
    """
    compared: set[str] = set()
    agrees = derivatives._gradient_agrees

    def counting(trial: Trial, *rest: Any) -> bool:
        verdict = agrees(trial, *rest)  # raises where something is missing
        compared.add(trial.operator.full_name)
        return verdict

    monkeypatch.setattr(derivatives, "_gradient_agrees", counting)
    loaded = library_declarations()
    assert check_mathematics(Context(loaded)) == []
    expected = [
        o
        for o in loaded.operators
        if o.derivative is not None
        and o.derivative.formulas
        and o.test.gradient
        and not o.internal
        and o.random is None
        and not any(a.type.mutable or a.type.is_list for a in o.tensor_arguments)
    ]
    missing = [o for o in expected if o.full_name not in compared]
    assert [o.full_name for o in missing if o.kind is Kind.REDUCTION] == []
    assert len(missing) < len(expected) / 20, [o.full_name for o in missing]
