"""Shape rules, the geometry of views and the declared errors, evaluated over NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flambeau.codegen.check.formulas import FormulaEvaluator
from flambeau.codegen.check.report import Report
from flambeau.codegen.check.trial import Library, Trial, sampled
from flambeau.codegen.check.values import Values, close, worst
from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.evaluate import EvaluationError, MissingError
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.shape_rules import DTYPE_FUNCTIONS, FUNCTIONS
from flambeau.codegen.model.entries import Constraint, Operator, ShapeRule


class ShapeEvaluator(FormulaEvaluator):
    """The shape language: lists and integers; also strides, offsets and dtypes of arrays."""

    def attribute(self, node: nodes.Attribute) -> Any:
        if node.name in ("dtype", "strides", "offset"):
            value = self(node.value)
            if isinstance(value, np.ndarray):
                strides = [s // max(value.itemsize, 1) for s in value.strides]
                return {"dtype": value.dtype.name, "strides": strides, "offset": 0}[node.name]
        return super().attribute(node)

    def function(self, node: Expression, name: str) -> Callable[..., Any]:
        if name in FUNCTIONS or name in DTYPE_FUNCTIONS:
            return FUNCTIONS.get(name) or DTYPE_FUNCTIONS[name]
        return super().function(node, name)


def shape_evaluator(library: Library, operator: Operator, values: Values) -> ShapeEvaluator:
    """An evaluator that knows the arguments, and the lets of the shape rule."""
    results = {r.name for r in operator.signature.results}
    evaluator = ShapeEvaluator(values, library.table, library.operators, results)
    for names, value in operator.shape.lets if operator.shape is not None else ():
        found = evaluator(value)
        if len(names) == 1:
            evaluator.names[names[0]] = found
            continue
        if not isinstance(found, list | tuple) or len(found) != len(names):
            message = f"{list(found)} has not {len(names)} items"
            raise MissingError(value, message)  # a declared error may refuse it first
        evaluator.names.update(zip(names, found, strict=True))
    return evaluator


def check_shape(trial: Trial) -> None:
    """The shape rule gives the shape that the reference has."""
    rule = trial.operator.shape
    if rule is None or rule.dynamic or rule.geometry is not None:
        return
    try:
        evaluator = shape_evaluator(trial.library, trial.operator, trial.values)
        for name, formula in rule.shapes.items():
            shape = list(evaluator(formula))
            evaluator.names[name] = np.broadcast_to(np.float64(0), shape)
            expected = trial.expected.get(name)
            if expected is None or isinstance(expected, list | tuple):
                continue
            if shape != list(np.shape(expected)):
                trial.error(
                    formula,
                    f"the shape of '{name}' is {shape} where the reference has "
                    f"{list(np.shape(expected))}",
                    _shapes_hint(trial.values),
                )
                return
        _check_geometry(trial, rule, evaluator)
    except EvaluationError as error:
        trial.failure(error, "the shape")


def check_flops(trial: Trial) -> None:
    """What counts the work of a sample is a number of operations."""
    formula = trial.operator.flops
    if formula is None:
        return
    try:
        known = {n: v for n, v in trial.expected.items() if v is not None}
        evaluator = shape_evaluator(trial.library, trial.operator, {**trial.values, **known})
        found = evaluator(formula)
    except EvaluationError as error:
        trial.failure(error, "'flops'")
        return
    if not isinstance(found, int | np.integer) or found < 0:
        trial.error(formula, f"'flops' is {found}, no count", _shapes_hint(trial.values))


def _shapes_hint(values: Values) -> str:
    parts = [
        f"{name} of shape {list(value.shape)}"
        if isinstance(value, np.ndarray)
        else f"{name}={value}"
        for name, value in values.items()
    ]
    return f"for {', '.join(parts)}"


def _check_geometry(trial: Trial, rule: ShapeRule, evaluator: ShapeEvaluator) -> None:
    """Strides and offset show the elements that the reference has."""
    if rule.strides is None or rule.offset is None:
        return
    (result,) = trial.operator.signature.results
    base = np.ascontiguousarray(trial.values[result.view_of or "self"])
    evaluator.names[result.view_of or "self"] = base
    shape = list(evaluator(rule.shapes[result.name]))
    strides, offset = list(evaluator(rule.strides)), int(evaluator(rule.offset))
    if len(strides) != len(shape):
        message = f"a list of {len(strides)} strides for {len(shape)} dims"
        trial.error(rule.strides, message, _shapes_hint(trial.values))
        return
    steps = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
    first = offset + sum(min(step, 0) for step in steps)
    last = offset + sum(max(step, 0) for step in steps)
    if 0 in shape:
        return
    if first < 0 or last >= base.size:
        message = f"the view reaches from element {first} to {last} of {base.size}"
        trial.error(rule.strides, message, _shapes_hint(trial.values))
        return
    places = np.full(shape, offset)
    for axis, step in enumerate(strides):
        along = [1] * len(shape)
        along[axis] = -1
        places = places + np.arange(shape[axis]).reshape(along) * step
    found = base.reshape(-1)[places]
    if not close(found, trial.expected[result.name], None):
        got, wanted = worst(found, trial.expected[result.name])
        message = f"the strides and the offset show {got} where the reference has {wanted}"
        trial.error(rule.strides, message, _shapes_hint(trial.values))


def check_accepted(trial: Trial) -> bool:
    """Whether no declared error refuses the sample."""
    for constraint in trial.operator.constraints:
        holds = _holds(trial, constraint, trial.values)
        if holds is False and not constraint.only_warns:
            path = ("test", "samples", str(trial.index))
            message = f"the sample violates the error '{constraint.name}'"
            trial.report.error(message, *path, hint=f"require: {constraint.require}")
            return False
    return True


def check_rejects(report: Report, library: Library) -> None:
    """Each error is violated by the arguments that are to violate it, and no earlier one is."""
    operator = report.operator
    for name, sample in operator.test.rejects.items():
        path = ("test", "rejects", name)
        values = sampled(report, sample, 0, *path)
        if values is None:
            continue
        trial = Trial(report, library, 0, values)
        for constraint in operator.constraints:
            holds = _holds(trial, constraint, values)
            if constraint.name == name and holds:
                message = f"rejects: these arguments do not violate '{name}'"
                hint = f"require: {constraint.require}"
                report.error(message, *path, hint=hint, aside=True)
            if constraint.name == name or holds is None:
                break
            if holds is False and not constraint.only_warns:
                message = f"rejects: these arguments violate '{constraint.name}' before '{name}'"
                hint = f"require: {constraint.require}"
                report.error(message, *path, hint=hint, aside=True)
                break


def _holds(trial: Trial, constraint: Constraint, values: Mapping[str, Any]) -> bool | None:
    """Whether what is required holds; None where NumPy cannot tell."""
    try:
        evaluator = shape_evaluator(trial.library, trial.operator, dict(values))
        return bool(np.all(evaluator(constraint.require)))
    except EvaluationError as error:
        trial.failure(error, f"'{constraint.name}'")
        return None
