"""C++ over tensors: operators found by token and name, numbers left to C++, mistakes shown."""

from __future__ import annotations

import pytest
from support import load_text

from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.model.types import INTS, TENSOR, ValueKind, ValueType
from flambeau.codegen.tensor.forward import tangent_terms
from flambeau.codegen.tensor.to_cpp import Let, Symbol, emit_condition, emit_tensor
from flambeau.codegen.text.source import DeclarationError

DECLARED = """
- {op: "plus(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor result",
   kind: pointwise, operator: "+", expr: "self + alpha * other",
   derivative: {self: "grad", other: "alpha * grad"}}
- {op: "times(Tensor self, Tensor|Scalar other) -> Tensor result", kind: pointwise, operator: "*",
   expr: "self * other", derivative: {self: "grad * conj(other)", other: "grad * conj(self)"}}
- {op: "minus(Tensor self, Tensor|Scalar other) -> Tensor result", kind: pointwise, operator: "-",
   expr: "self - other", derivative: auto}
- {op: "from_minus(Tensor self, Tensor|Scalar other) -> Tensor result", kind: pointwise,
   operator: "reflected -", expr: "other - self", derivative: auto}
- {op: "greater(Tensor self, Tensor|Scalar other) -> bool result", kind: pointwise, operator: ">",
   expr: "self > other", derivative: none}
- {op: "less(Tensor self, Tensor|Scalar other) -> bool result", kind: pointwise, operator: "<",
   expr: "self < other", derivative: none}
- {op: "negated(Tensor self) -> Tensor result", kind: pointwise, operator: "neg", expr: "-self",
   derivative: auto}
- {op: "exp(Tensor self) -> Tensor result", kind: pointwise, expr: "exp(self)", derivative: auto}
- {op: "conj(Tensor self) -> Tensor result", kind: pointwise, expr: "conj(self)", derivative: auto}
- {op: "where(Tensor condition, Tensor|Scalar self, Tensor|Scalar other) -> Tensor result",
   kind: pointwise, expr: "self if condition else other",
   derivative: {self: "grad if condition else 0", other: "0 if condition else grad"}}
- {op: "sum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)
   -> Tensor result", kind: structured, linear_in: [self], derivative: none}
- {op: "largest_of(Tensor self, int dim=-1) -> (Tensor values, int64 indices)", kind: structured,
   derivative: none}
- {op: "join(Tensor[] tensors, int dim=0) -> Tensor result", kind: structured, derivative: none}
- {op: "sharp(Tensor self, Tensor other) -> Tensor result", kind: pointwise,
   dtypes: {self: float, promote: [self, other]}, expr: "hypot(self, other)", derivative: none}
- {op: "blunt(Tensor self, Tensor other) -> Tensor result", kind: pointwise,
   dtypes: {promote: [self, other]}, expr: "self + other", derivative: none}
- {op: "pool(Tensor self, int[2] size) -> Tensor result", kind: structured, derivative: none}
"""


@pytest.fixture(scope="module")
def index() -> OperatorIndex:
    loaded, _ = load_text(DECLARED, "made_up.yaml")
    return OperatorIndex(loaded.declarations.operators)


SCOPE = {
    "x": Symbol("x", TENSOR),
    "grad": Symbol("grad", TENSOR),
    "other": Symbol("other", ValueType(ValueKind.OPERAND)),
    "alpha": Symbol("alpha", ValueType(ValueKind.SCALAR)),
    "dim": Symbol("dim", ValueType(ValueKind.INT)),
    "dims": Symbol("dims", ValueType(ValueKind.INTS, optional=True)),
    "eps": Symbol("eps", ValueType(ValueKind.FLOAT)),
    "limit": Symbol("limit", ValueType(ValueKind.SCALAR, optional=True)),
    "mode": Symbol("mode", ValueType(ValueKind.STR)),
    "bias": Symbol("bias", ValueType(ValueKind.TENSOR, optional=True)),
    "tensors": Symbol("tensors", ValueType(ValueKind.TENSORS)),
    "y.shape": Symbol("y_shape_", INTS),
}


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("x + 1", "ops::plus(x, 1)"),
        ("2 * x", "ops::times(x, 2)"),
        ("1 - x", "ops::from_minus(x, 1)"),
        ("0 < x", "ops::greater(x, 0)"),
        ("-exp(x)", "ops::negated(ops::exp(x))"),
        ("grad * (dim / 2)", "ops::times(grad, static_cast<double>(dim) / 2.0)"),
        ("x * (alpha * 2 + eps)", "ops::times(x, alpha * Scalar(2) + Scalar(eps))"),
        ("grad * conj(alpha)", "ops::times(grad, scalar_math::conj(alpha))"),
        ("grad if x > 0 else 0", "ops::where(ops::greater(x, 0), grad, 0)"),
        ("x if mode == 'sum' else grad", 'mode == std::string_view("sum") ? x : grad'),
        ("sum(x, [0, dim], True)", "ops::sum(x, IntList(Shape{0, dim}), true)"),
        ("sum(x, dims)", "ops::sum(x, dims)"),
        ("sum(x, keepdim=True)", "ops::sum(x, std::nullopt, true)"),
        ("sum(x, dim)", "ops::sum(x, IntList(Shape{dim}))"),
        ("pool(x, 3)", "ops::pool(x, Shape{3, 3})"),
        ("largest_of(x)[1]", "std::get<1>(ops::largest_of(x))"),
        ("join([x, grad], 1)", "ops::join(TensorItems{x, grad}.list, 1)"),
        ("x if bias is None else bias", "!bias.defined() ? x : bias"),
        (
            "x if limit is None else x + limit",
            "!limit.has_value() ? x : ops::plus(x, (*limit))",
        ),
        (
            "grad * conj(other)",
            "other.is_tensor() ? ops::times(grad, ops::conj(other.tensor())) : "
            "ops::times(grad, scalar_math::conj(other.scalar()))",
        ),
        (
            "join([exp(t) for t in tensors])",
            "ops::join([&] { std::vector<Tensor> items_; "
            "for ([[maybe_unused]] const auto& t_item : tensors) "
            "{ items_.push_back(ops::exp(t_item)); } return items_; }())",
        ),
    ],
)
def test_tensor_formulas(index: OperatorIndex, source: str, code: str) -> None:
    assert emit_tensor(parse_source(source), SCOPE, index, wanted=TENSOR).code == code


def test_a_branch_reads_what_its_condition_chose(index: OperatorIndex) -> None:
    """Where a derivative may be infinite; what scales a gradient by a number keeps its zeros."""

    def emitted(source: str) -> str:
        code = emit_tensor(parse_source(source), SCOPE, index, wanted=TENSOR, differentiated=True)
        assert code.statements in ((), ("const auto t0 = ops::greater(x, 0);",))
        return code.code

    assert emitted("grad if x > 0 else grad * exp(x)") == (
        "ops::where(t0, grad, ops::times(ops::where(t0, false, grad), "
        "ops::exp(ops::where(t0, false, x))))"
    )
    assert (
        emitted("exp(x) if x > 0 else 0") == "ops::where(t0, ops::exp(ops::where(t0, x, false)), 0)"
    )
    assert emitted("where(x > 0, exp(x), 0)") == emitted("exp(x) if x > 0 else 0")
    plain = "ops::where(ops::greater(x, 0), grad, ops::times(grad, 2))"
    assert emitted("grad if x > 0 else 2 * grad") == plain
    assert emitted("grad if dim > 0 else grad * exp(x)") == (
        "dim > 0 ? grad : ops::times(grad, ops::exp(x))"
    )


def test_an_integer_for_a_floating_tensor(index: OperatorIndex) -> None:
    assert emit("sharp(0, x)", index) == "ops::sharp(as_tensor(0.0), x)"
    assert emit("sharp(alpha, x)", index) == "ops::sharp(as_floating_tensor(alpha), x)"
    assert emit("blunt(0, x)", index) == "ops::blunt(as_tensor(0), x)"


def emit(source: str, index: OperatorIndex) -> str:
    return emit_tensor(parse_source(source), SCOPE, index, wanted=TENSOR).code


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("x.shape", "x.sizes()"),
        ("y.shape[1:] + [dim]", None),
        ("reduced(x.shape, dims, True)", 'shape_rules::reduced(x.sizes(), dims, true, "formula")'),
        ("x.shape if x.dim > 1 else [1]", "x.dim() > 1 ? Shape(x.sizes()) : Shape{1}"),
        ("[x.numel // 2, -1]", 'Shape{shape_rules::floor_div(x.numel(), 2, "formula"), -1}'),
        ("[1] * dim", "shape_rules::repeated(Shape{1}, dim)"),
    ],
)
def test_shapes(index: OperatorIndex, source: str, code: str | None) -> None:
    expected = code or (
        "shape_rules::concatenated(shape_rules::slice(y_shape_, 1, std::nullopt), Shape{dim})"
    )
    assert emit_tensor(parse_source(source), SCOPE, index, wanted=INTS).code == expected


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("other == 2", "(!other.is_tensor() && other.scalar().equals(2))"),
        ("alpha == 1 and dim != 0", "alpha.equals(1) && (dim != 0)"),
        ("is_integral(alpha)", "alpha.is_integral()"),
        ("is_floating(x.dtype)", "is_floating(x.dtype())"),
        ("x.shape == grad.shape", "equal(x.sizes(), grad.sizes())"),
        ("len(tensors) > 0", "static_cast<int64_t>(tensors.size()) > 0"),
    ],
)
def test_conditions(index: OperatorIndex, source: str, code: str) -> None:
    assert emit_condition(parse_source(source), SCOPE, index).code == code


def test_repeated_calls_are_made_once(index: OperatorIndex) -> None:
    code = emit_tensor(parse_source("exp(x) * exp(x) + exp(x)"), SCOPE, index)
    assert code.statements == ("const auto t0 = ops::exp(x);",)
    assert code.code == "ops::plus(ops::times(t0, t0), t0)"
    assert code.families == {"made_up"}


def test_a_branch_computes_nothing_for_the_other(index: OperatorIndex) -> None:
    code = emit_tensor(parse_source("exp(x) * exp(x) if dim > 0 else x"), SCOPE, index)
    assert code.statements == ()
    assert code.code == (
        "dim > 0 ? [&] { const auto t0 = ops::exp(x); return ops::times(t0, t0); }() : x"
    )


def test_lets_and_unpacking(index: OperatorIndex) -> None:
    lets = [Let(("b", "n"), parse_source("x.shape")), Let(("half",), parse_source("n // 2"))]
    code = emit_tensor(parse_source("[b, half]"), SCOPE, index, wanted=INTS, lets=lets)
    assert code.code == "Shape{b_let, half_let}"
    assert "expected 2 items (b, n)" in code.statements[1]
    assert code.statements[-1].endswith('half_let = shape_rules::floor_div(n_let, 2, "formula");')


def test_a_let_that_is_computed_later(index: OperatorIndex) -> None:
    lets = [Let(("y",), parse_source("exp(x)"), later=True)]
    code = emit_tensor(parse_source("y if dim > 0 else x"), SCOPE, index, lets=lets)
    assert code.statements == ("const forms::Later y_let([&] { return ops::exp(x); });",)
    assert (code.code, code.has_later) == ("dim > 0 ? y_let() : x", True)


def test_items_of_lists_are_checked(index: OperatorIndex) -> None:
    code = emit_tensor(parse_source("tensors[1]"), SCOPE, index)
    assert code.code == 'shape_rules::item(tensors, 1, "tensors", "formula")'


def test_a_gradient_that_is_zero_does_not_flow(index: OperatorIndex) -> None:
    source = parse_source("0 if alpha == 0 else grad * alpha")
    code = emit_tensor(source, SCOPE, index, wanted=TENSOR, zero="Tensor()")
    assert code.code == "alpha.equals(0) ? Tensor() : ops::times(grad, alpha)"


@pytest.mark.parametrize(
    ("source", "message", "marked"),
    [
        ("x + zz", "unknown name 'zz'", "zz"),
        ("frob(x)", "unknown function 'frob'", "frob(x)"),
        ("sum(x, 'all')", "'sum' does not take (Tensor, str)", "sum(x, 'all')"),
        ("exp(x, x)", "does not take", "exp(x, x)"),
        ("x + limit", "does not take", "x + limit"),
        ("x @ x", "no operator is declared for '@'", "x @ x"),
        ("x.colour", "has no attribute 'colour'", "x.colour"),
        ("x[0]", "cannot be indexed", "x[0]"),
        ("x if mode else dims", "the branches are", None),
        ("alpha is None", "never None", "alpha"),
        ("mode + 1", "does not apply", "mode + 1"),
        ("largest_of(x)[2]", "2 results", "2"),
    ],
)
def test_mistakes(index: OperatorIndex, source: str, message: str, marked: str | None) -> None:
    with pytest.raises(DeclarationError) as caught:
        emit_tensor(parse_source(source), SCOPE, index, wanted=TENSOR)
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message
    if marked is not None:
        start = diagnostic.span.column - 1
        assert source[start : start + diagnostic.span.length] == marked


def test_forward_mode_follows_from_reverse_mode() -> None:
    loaded, _ = load_text(DECLARED)
    operators = {o.name: o for o in loaded.declarations.operators}
    terms = tangent_terms(operators["times"], "result", is_complex=True)
    assert terms is not None
    assert {k: str(v) for k, v in terms.items()} == {
        "self": "self_t * other",
        "other": "other_t * self",
    }
    summed = tangent_terms(operators["sum"], "result")
    assert summed is not None
    assert str(summed["self"]) == "sum(self_t, dim, keepdim, dtype=dtype)"
