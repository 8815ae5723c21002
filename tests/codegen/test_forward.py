"""Forward mode: tangents that are derived, tangents that are declared, mistakes in either."""

from __future__ import annotations

import pytest
from support import assert_found, check_text, load_text, marked

from flambeau.codegen.check.mathematics import check_mathematics
from flambeau.codegen.check.report import Context
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.backward import plan_backward
from flambeau.codegen.plan.forward import forward_lines, has_forward
from flambeau.codegen.plan.translate import Translator
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.tensor.forward import tangent_terms

DECLARED = """
- op: "times(Tensor self, Tensor|Scalar other) -> Tensor result"
  kind: pointwise
  operator: "*"
  expr: "self * other"
  derivative: auto
- op: "sum(Tensor self, int[]? dim=None) -> Tensor result"
  kind: structured
  linear_in: [self]
  derivative: none
- op: "line(Tensor x, Tensor weight, Tensor? bias) -> Tensor result"
  kind: structured
  linear_in: [x, weight]
  additive: [bias]
  derivative: none
- op: "both(Tensor a, Tensor b) -> (Tensor sum, Tensor product)"
  kind: pointwise
  dtypes: {a: float, b: float}
  expr: {sum: "a + b", product: "a * b"}
  derivative: auto
- op: "masked(Tensor self) -> (Tensor result, hidden bool mask)"
  kind: pointwise
  dtypes: {self: float}
  expr: {mask: "self > 0", result: "2 * self if mask else 0"}
  derivative: {self: "2 * grad if mask else 0"}
- op: "spread(Tensor self, Tensor? weight)
    -> (Tensor mean, Tensor width, int64 count, hidden Tensor rate)"
  kind: structured
  dtypes: {self: float, weight: float}
  derivative: {self: "grad_mean + grad_width * rate", weight: none}
  forward:
    let: {scaled: "self_t * rate"}
    mean: "sum(self_t)"
    width: "sum(scaled)"
"""


def operators(text: str = DECLARED) -> dict[str, Operator]:
    loaded, found = load_text(text)
    assert not found, "\n".join(d.render() for d in found)
    return {o.full_name: o for o in loaded.declarations.operators}


def lines(name: str, text: str = DECLARED) -> str:
    """The body of an operator's forward function."""
    loaded, _ = load_text(text)
    declarations = loaded.declarations
    operator = next(o for o in declarations.operators if o.name == name)
    translator = Translator(declarations, OperatorIndex(declarations.operators))
    return "\n".join(forward_lines(operator, plan_backward(operator, declarations), translator))


@pytest.mark.parametrize(
    ("name", "result", "expected"),
    [
        ("times", "result", {"self": "self_t * other", "other": "other_t * self"}),
        ("sum", "result", {"self": "sum(self_t, dim)"}),
        ("both", "sum", {"a": "a_t", "b": "b_t"}),
        ("both", "product", {"a": "a_t * b", "b": "b_t * a"}),
        ("masked", "result", {"self": "2 * self_t if mask else 0"}),
    ],
)
def test_derived(name: str, result: str, expected: dict[str, str]) -> None:
    terms = tangent_terms(operators()[name], result)
    assert terms is not None
    assert {argument: str(term) for argument, term in terms.items()} == expected


def test_nothing_is_derived_for_what_has_no_tangent() -> None:
    found = operators()
    assert tangent_terms(found["masked"], "mask") is None
    assert tangent_terms(found["spread"], "mean") is None  # neither pointwise nor linear


def test_a_formula_per_result() -> None:
    assert lines("spread") == (
        "forms::refuse_tangents(forms::tracked(weight), name);\n"
        "[[maybe_unused]] const auto self_t = tangent_or_zeros(self);\n"
        "const ForwardPause pause;\n"
        "{\n"
        "  Tensor total;\n"
        "  total = ops::sum(self_t);\n"
        "  set_fitting_tangent(mean, std::move(total));\n"
        "}\n"
        "{\n"
        "  Tensor total;\n"
        "  total = ops::sum(ops::times(self_t, rate));\n"
        "  set_fitting_tangent(width, std::move(total));\n"
        "}"
    )


def test_a_result_may_be_called_as_the_sum_of_tangents() -> None:
    text = DECLARED.replace("Tensor mean, Tensor width", "Tensor total, Tensor width")
    text = text.replace("grad_mean", "grad_total")
    text = text.replace('mean: "sum(self_t)"', 'total: "sum(total)"')
    assert "  Tensor total_;\n  total_ = ops::sum(total);\n" in lines("spread", text)


def test_derived_tangents_of_several_results() -> None:
    text = lines("both")
    assert text.count("set_fitting_tangent(sum, std::move(total));") == 1
    assert text.count("set_fitting_tangent(product, std::move(total));") == 1
    assert text.count("add_term(total, b, ") == 2


MISTAKES = [
    (
        '«forward»:\n    let: {scaled: "self_t * rate"}\n    mean: "sum(self_t)"\n',
        "'forward' has no formula for 'mean'",
    ),
    ('forward:\n    «count»: "sum(self_t)"\n', "'count' is not differentiable"),
    ('forward:\n    «rate»: "sum(self_t)"\n', "'rate' is not differentiable"),
    ('forward:\n    «meen»: "sum(self_t)"\n', "'meen' is not a result"),
    ('forward:\n    mean: "sum(«self_tt»)"\n', "unknown name 'self_tt'"),
    ("«linear_in»: [weight]\n", "the tangent along 'self' would be lost"),
]


@pytest.mark.parametrize(("forward", "message"), MISTAKES, ids=[m[1] for m in MISTAKES])
def test_mistakes(forward: str, message: str) -> None:
    kept = DECLARED[: DECLARED.index("  forward:")]
    if "no formula" in message:
        forward = forward.replace('    mean: "sum(self_t)"\n', '    width: "sum(scaled)"\n')
    text, place = marked(f"{kept}  {forward}")
    assert_found(check_text(text), place, message)


def test_a_composite_has_no_forward_formula() -> None:
    text, place = marked(
        '- op: "twice(Tensor self) -> Tensor result"\n'
        "  kind: composite\n"
        '  body: "self + self"\n'
        '  «forward»: {result: "self_t + self_t"}\n'
    )
    assert_found(check_text(text), place, "the tangent of a composite follows from its body")


VALUES = """
- op: "mean_and_square(Tensor self, Tensor factor) -> (Tensor mean, Tensor square)"
  kind: structured
  dtypes: {self: float, factor: float}
  derivative:
    self: "grad_mean * factor / self.numel + 2 * grad_square * self"
    factor: "grad_mean * total(self) / self.numel"
  forward:
    mean: "(factor_t * total(self) + factor * total(self_t)) / self.numel"
    square: "2 * self * self_t"
  reference: "(factor * np.mean(self), self * self)"
  samples:
    - randn(5), randn()
- op: "total(Tensor self) -> Tensor result"
  kind: structured
  linear_in: [self]
  derivative: none
  reference: "np.sum(self)"
- op: "halves(Tensor self) -> Tensor result"
  kind: structured
  dtypes: {self: float}
  linear_in: [self]
  derivative: {self: "grad / 2"}
  reference: "self / 2"
  samples:
    - randn(5)
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "", None),
        (
            'square: "2 * self',
            'square: "3 * self',
            "tangent of 'square' along 'self'",
        ),
        (
            "factor_t * total(self)",
            "factor_t * total(self) * 2",
            "tangent of 'mean' along 'factor'",
        ),
        ('"self / 2"', '"self / 2 + 1"', "the result is not linear in 'self'"),
    ],
)
def test_tangents_are_compared_with_differences(old: str, new: str, message: str | None) -> None:
    """Declared ones, and those that follow from `linear_in`, which an affine function breaks."""
    text = VALUES.replace(old, new)
    loaded, mistakes = load_text(text)
    assert not mistakes
    found = [d.render() for d in check_mathematics(Context.of(loaded))]
    assert len(found) == (0 if message is None else 1), "\n".join(found)
    assert message is None or message in found[0]


def test_every_operator_of_the_library_has_forward_mode() -> None:
    declarations = library_declarations()
    lacking = [
        operator.full_name
        for operator in declarations.operators
        if (plan := plan_backward(operator, declarations)) is not None
        and not has_forward(operator, plan)
        and not operator.layouts  # sparse tensors have no tangents
    ]
    assert lacking == []


def test_an_optional_argument_is_left_out_of_the_terms_of_others() -> None:
    """Zeros like it would be zeros like nothing where it is None."""
    terms = tangent_terms(operators()["line"], "result")
    assert terms is not None
    assert str(terms["x"]) == "line(x_t, weight, None)"
    assert str(terms["weight"]) == "line(x, weight_t, None)"
    assert str(terms["bias"]).endswith(", weight, bias_t)")
