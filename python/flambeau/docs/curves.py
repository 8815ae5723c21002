"""Points of a real function of one variable and of its derivative, from its declaration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen.check.formulas import FormulaEvaluator, bind
from flambeau.codegen.check.samples import sample_value
from flambeau.codegen.formula.evaluate import EvaluationError
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.read.loader import library_declarations

Array = npt.NDArray[np.float64]

POINTS = 1201
WIDEST = 4.0  # functions are drawn over [-WIDEST, WIDEST] or the part of it where they are defined
TALLEST = 4.5


@dataclass(frozen=True, slots=True)
class Curves:
    """A function and its derivative (None: there is none) at the same points."""

    x: Array
    y: Array
    slope: Array | None
    x_range: tuple[float, float]
    y_range: tuple[float, float]


@lru_cache(maxsize=1)
def _operators() -> OperatorIndex:
    return OperatorIndex(library_declarations().operators)


def curves_of(full_name: str) -> Curves:
    """The curves of an operator by its name, such as "round.decimals".

    Raises:
        LookupError: if there is no such operator.
        ValueError: if its formula has no real value at any point.
    """
    operator = next((o for o in library_declarations().operators if o.full_name == full_name), None)
    if operator is None:
        raise LookupError(f"there is no operator {full_name!r} to plot")
    x = np.linspace(-WIDEST, WIDEST, POINTS)
    y = _value(operator, x)
    if not np.isfinite(y).any():
        raise ValueError(f"{full_name} has no real value in [{-WIDEST:g}, {WIDEST:g}]")
    x_range = _domain(x, y)
    if x_range[1] - x_range[0] < 2 * WIDEST:  # finer where it is defined
        x = np.linspace(*x_range, POINTS)
        y = _value(operator, x)
    slope = _slope(operator, x, y)
    shown = y if slope is None else np.concatenate([y, slope])
    return Curves(x, y, slope, x_range, _window(shown, y))


def parameters(operator: Operator) -> dict[str, Any]:
    """The arguments beside the tensor: defaults, and what a sample gives for the rest."""
    tensor = operator.tensor_arguments[0].name
    required = {
        a.name
        for a in operator.signature.arguments
        if a.default is None and not a.type.optional and a.name != tensor
    }
    for sample in operator.test.samples:
        if required <= sample.keys():
            return {name: sample_value(sample[name], 0) for name in sorted(required)}
    raise ValueError(f"no sample of {operator.full_name} gives {', '.join(sorted(required))}")


def _bound(operator: Operator, x: Array) -> dict[str, Any]:
    tensor = operator.tensor_arguments[0].name
    bound = bind(operator, (), {tensor: x, **parameters(operator)})
    assert bound is not None, operator.full_name
    return bound


def _value(operator: Operator, x: Array) -> Array:
    result = operator.signature.visible_results[0].name
    return _evaluate(operator, operator.expressions[result], _bound(operator, x), x)


def _slope(operator: Operator, x: Array, y: Array) -> Array | None:
    derivative = operator.derivative
    tensor = operator.tensor_arguments[0].name
    if derivative is None or derivative.none or tensor not in derivative.formulas:
        return None
    result = operator.signature.visible_results[0].name
    values = {**_bound(operator, x), result: y, "grad": np.ones_like(x)}
    try:
        slope = _evaluate(operator, derivative.formulas[tensor], values, x)
    except EvaluationError:
        return None  # a formula of operators that have no NumPy equivalent
    slope[~np.isfinite(y)] = np.nan
    return slope


def _evaluate(operator: Operator, formula: Any, values: dict[str, Any], x: Array) -> Array:
    with np.errstate(all="ignore"):
        found = FormulaEvaluator(values, load_functions(), _operators())(formula)
    # Formulas for complex numbers: on the real line the real part counts, as for a real tensor.
    return np.array(np.broadcast_to(np.real(found), x.shape), dtype=np.float64)


def _domain(x: Array, y: Array) -> tuple[float, float]:
    """The part of the line where the function is defined, with a margin where that is less."""
    inside = x[np.isfinite(y)]
    low, high = float(inside.min()), float(inside.max())
    margin = 0.06 * (high - low)
    step = x[1] - x[0]
    left = low if low <= x[0] + step else max(low - margin, -WIDEST)
    right = high if high >= x[-1] - step else min(high + margin, WIDEST)
    return left, right


def _window(shown: Array, y: Array) -> tuple[float, float]:
    """The heights to show: all of them, unless poles and growth would flatten the rest."""
    finite = shown[np.isfinite(shown)]
    low, high = min(float(finite.min()), 0.0), max(float(finite.max()), 0.0)
    middle = float(np.median(np.abs(y[np.isfinite(y)])))
    limit = TALLEST if middle < TALLEST else np.inf
    low, high = max(low, -limit), min(high, limit)
    if high - low < 1e-9:
        low, high = -1.0, 1.0
    margin = 0.08 * (high - low)
    return low - margin, high + margin
