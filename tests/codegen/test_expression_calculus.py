"""Symbolic gradients against finite differences, and the rewriting of formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flambeau.codegen.check.differences import central_difference, disagreement
from flambeau.codegen.formula.differentiate import derivative, gradient
from flambeau.codegen.formula.functions import Function, load_functions
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.formula.reuse import reuse_results
from flambeau.codegen.formula.saved import reads_of
from flambeau.codegen.formula.simplify import simplify
from flambeau.codegen.formula.to_numpy import to_numpy
from flambeau.codegen.tensor.forward import pointwise_tangent
from flambeau.codegen.text.source import DeclarationError

FUNCTIONS = load_functions()
GRID = np.concatenate([np.linspace(-2.93, 2.87, 23), np.linspace(0.03, 0.97, 11)])
ELEMENTWISE = [f for f in FUNCTIONS.values() if f.level == "element" and f.parameters]
CASES = [
    (f.name, p.name)
    for f in ELEMENTWISE
    for p in f.parameters
    if p.type == "element" and (p.name in f.derivatives or f.expands is not None)
]


def call_of(name: str) -> tuple[str, dict[str, np.ndarray]]:
    """A call of the function, and a grid of arguments."""
    function = FUNCTIONS[name]
    random = np.random.default_rng(0)
    values: dict[str, np.ndarray] = {}
    for i, parameter in enumerate(function.parameters):
        grid = random.permutation(GRID) if i else GRID
        values[parameter.name] = grid > 0 if parameter.type == "condition" else grid
        if parameter.type == "integer":
            values[parameter.name] = np.asarray(2)
    return f"{name}({', '.join(p.name for p in function.parameters)})", values


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_derivative_of_every_function(name: str, argument: str) -> None:
    source, values = call_of(name)
    tree = parse_source(source)
    function = to_numpy(tree)
    found = to_numpy(gradient(tree, argument))({**values, "grad": np.asarray(1.0)})

    def moved(t: float) -> np.ndarray:
        return np.asarray(function({**values, argument: values[argument] + t}), dtype=float)

    difference = central_difference(moved)
    assert np.sum(difference.trusted) >= 5
    assert disagreement(found, difference) is None


def _element(function: Function) -> str:
    return next(p.name for p in function.parameters if p.type == "element")


HOLOMORPHIC = [
    f.name
    for f in ELEMENTWISE
    if "complex" in f.accepts
    and f.result == "same"
    and (_element(f) in f.derivatives or f.gradients or f.expands)
]


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_complex_gradient_and_tangent(name: str) -> None:
    function = FUNCTIONS[name]
    argument = _element(function)
    source, values = call_of(name)
    random = np.random.default_rng(1)
    values = {
        k: v + 1j * random.uniform(0.2, 0.9, v.shape) if v.dtype == float else v
        for k, v in values.items()
    }
    tree = parse_source(source)
    compute = to_numpy(tree)
    formula = gradient(tree, argument, is_complex=True)
    grad = random.standard_normal(GRID.shape) + 1j * random.standard_normal(GRID.shape)
    found = to_numpy(formula)({**values, "grad": grad})
    for unit in (1.0, 1.0j):
        moved = central_difference(
            lambda t, unit=unit: np.real(
                np.conj(grad) * compute({**values, argument: values[argument] + t * unit})
            )
        )
        assert disagreement(np.real(found * np.conj(unit)), moved) is None
    tangent = random.standard_normal(GRID.shape) + 1j * random.standard_normal(GRID.shape)
    term = pointwise_tangent({argument: formula}, is_complex=True).get(argument)
    along = 0.0 if term is None else to_numpy(term)({**values, f"{argument}_t": tangent})
    moved = central_difference(
        lambda t: compute({**values, argument: values[argument] + t * tangent})
    )
    assert disagreement(along, moved) is None


@pytest.mark.parametrize(
    "source",
    [
        "x * sigmoid(x)",
        "0.5 * x * (1 + erf(x * 0.7071067811865476))",
        "x if x > 0 else y * expm1(x / y)",
        "log1p(exp(-abs(x))) + maximum(x, 0)",
        "where(x > y, x ** 3, sin(x) / (2 + x * x))",
        "x ** y if x > 0 else -x",
        "(x - y) ** 2 / (1 + y * y)",
        "tanh(x) % 0.3 + x // 2",
        "minimum(maximum(x, -1), 1) * y - -x",
        "hypot(x, y) + atan2(x, y) * copysign(x, y)",
        "exp2(-square(x)) + x ** -2 + 2 ** x",
    ],
)
@pytest.mark.parametrize("argument", ["x", "y"])
def test_gradients_of_formulas(source: str, argument: str) -> None:
    tree = parse_source(source)
    values = {"x": GRID, "y": np.random.default_rng(2).permutation(GRID)}
    compute = to_numpy(tree)
    found = to_numpy(gradient(tree, argument))({**values, "grad": np.full(GRID.shape, 1.7)})
    moved = central_difference(
        lambda t: 1.7 * compute({**values, argument: values[argument] + t}) + 0 * GRID
    )
    assert disagreement(found, moved) is None
    second = derivative(derivative(tree, argument), argument)
    moved = central_difference(
        lambda t: (
            to_numpy(derivative(tree, argument))({**values, argument: values[argument] + t})
            + 0 * GRID
        )
    )
    assert disagreement(to_numpy(second)(values), moved) is None


def test_ties_are_split() -> None:
    formula = to_numpy(gradient(parse_source("maximum(x, y)"), "x"))
    at = {"x": np.array([1.0, 2.0, 3.0]), "y": np.array([2.0, 2.0, 2.0]), "grad": np.ones(3)}
    np.testing.assert_array_equal(formula(at), [0, 0.5, 1])


def test_a_branch_that_is_not_taken_leaves_no_nan() -> None:
    formula = to_numpy(gradient(parse_source("where(x > 0, sqrt(x), 0)"), "x"))
    found = formula({"x": np.array([-1.0, 0.0, 4.0]), "grad": np.ones(3)})
    np.testing.assert_array_equal(found, [0, 0, 0.25])


def test_what_has_no_derivative_says_so() -> None:
    bare = {**FUNCTIONS, "erf": replace(FUNCTIONS["erf"], derivatives={})}
    with pytest.raises(DeclarationError, match="no derivative by 'x'"):
        gradient(parse_source("erf(x)"), "x", functions=bare)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x + 0 + 1 * y", "x + y"),
        ("--x", "x"),
        ("2 * 3 + x", "6 + x"),
        ("x * 0", "x * 0"),
        ("x - -y", "x + y"),
        ("10 ** 10 ** 10", "10 ** 10000000000"),
        ("1 / 0", "1 / 0"),
        ("x if True else y", "x"),
    ],
)
def test_simplification(source: str, expected: str) -> None:
    assert str(simplify(parse_source(source))) == expected


@pytest.mark.parametrize(
    ("source", "expected", "reads"),
    [
        ("exp(x)", "grad * result", {"grad", "result"}),
        ("tanh(x)", "grad * (1 - result ** 2)", {"grad", "result"}),
        ("sigmoid(x)", "grad * (result * (1 - result))", {"grad", "result"}),
        ("sqrt(x)", "grad / (2 * result)", {"grad", "result"}),
        ("x * y", "grad * y", {"grad", "y"}),
        ("sin(x)", "grad * cos(x)", {"grad", "x"}),
    ],
)
def test_results_are_reused(source: str, expected: str, reads: set[str]) -> None:
    tree = parse_source(source)
    formula = reuse_results(gradient(tree, "x"), {"result": tree})
    assert str(formula) == expected
    assert reads_of(formula).names == reads


def test_metadata_is_no_read_of_the_tensor() -> None:
    reads = reads_of(parse_source("expand(grad, self.shape) / [s.numel for s in self.shapes][0]"))
    assert reads.names == {"grad"}
    assert reads.metadata == {("self", "shape"), ("self", "shapes")}
