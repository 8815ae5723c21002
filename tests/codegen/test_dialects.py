"""Formulas in dialects of C, and functions that a dialect writes by their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from flambeau.codegen.formula.dialect import opencl
from flambeau.codegen.formula.functions import Function, load_functions
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.formula.to_cpp import ScalarType, Symbol, emit_scalar
from flambeau.codegen.formula.to_numpy import ElementEvaluator
from flambeau.codegen.text.source import DeclarationError

POINTS = np.array([-np.inf, -2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 2.5, 80.0, np.inf, np.nan])
DEFINED = [f for f in load_functions().values() if f.definition is not None]
SYMBOLS = {"x": Symbol("x"), "n": Symbol("n", ScalarType.INT)}


@pytest.mark.parametrize("function", DEFINED, ids=lambda f: f.name)
def test_definition_is_the_function(function: Function) -> None:
    names = [p.name for p in function.parameters]
    numbers = np.arange(-4, 7) if function.accepts == {"integral"} else POINTS
    kinds = [np.arange(4.0) if p.type == "integer" else numbers for p in function.parameters]
    points = np.array(list(itertools.product(*kinds))).T
    assert function.definition is not None
    call = parse_source(f"{function.name}({', '.join(names)})")
    evaluate = ElementEvaluator(dict(zip(names, points, strict=True)), load_functions())
    with np.errstate(all="ignore"):
        found = np.broadcast_to(evaluate(function.definition), points[0].shape)
        wanted = np.asarray(evaluate(call))
    known = np.full(len(found), True)
    if function.name == "signbit":  # a NaN has no sign that anybody relies on
        known = ~np.isnan(points[0])
    if function.name == "normal_quantile":  # the second argument says the first more exactly
        known = points[1] == 0.5 - np.abs(points[0])
    if function.name == "erfcx_right":
        known = points[0] >= 0
    if function.name in ("bessel_j0_near", "bessel_j1_near"):
        known = np.abs(points[0]) <= 8
    if function.name == "angle":  # NumPy looks at the sign of a zero
        known = points[0] != 0
    np.testing.assert_allclose(found[known], wanted[known], rtol=1e-12)


def written(formula: str, *functions: str) -> str:
    """A formula in OpenCL C, whose library has some functions: statements and the result."""
    code = emit_scalar((parse_source(formula),), SYMBOLS, dialect=opencl(frozenset(functions)))
    return " ".join((*code.hoisted, *code.statements, code.results[0].code))


def test_conversions() -> None:
    assert written("x + 1") == "x + ((T)(1))"
    assert written("x * n") == "const T c0 = ((T)(n)); x * c0"
    assert written("x if x > 3000000000 else 0") == "x > ((T)(3000000000L)) ? x : ((T)(0))"


def test_functions_of_the_library() -> None:
    assert written("exp(x)", "exp") == "math_exp(x)"


def test_definitions() -> None:
    assert written("sigmoid(x)", "exp") == "((T)(1)) / (((T)(1)) + math_exp(-x))"
    # An argument that a definition reads twice is computed once.
    text = written("maximum(exp(x), x)", "exp")
    assert text.count("math_exp") == 1


def test_missing() -> None:
    with pytest.raises(DeclarationError, match="OpenCL C has no function 'digamma'"):
        written("digamma(x)")
    with pytest.raises(DeclarationError, match="OpenCL C has no complex numbers"):
        written("x * 1j")
