"""Forward mode against finite differences: declared formulas and derived ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.codegen.check.differences import central_difference, disagreement
from flambeau.codegen.check.samples import seed_of
from flambeau.codegen.check.trial import Trial
from flambeau.codegen.check.values import Values, broadcasts, is_differentiable
from flambeau.codegen.formula.evaluate import EvaluationError
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.simplify import ZERO
from flambeau.codegen.model.facts import gradient_names
from flambeau.codegen.tensor.forward import tangent_name, tangent_terms
from flambeau.codegen.text.source import DeclarationError


def check_tangents(trial: Trial, results: Values) -> None:
    """Compare tangents with differences along a random direction of each argument in turn."""
    operator = trial.operator
    assert operator.derivative is not None
    for argument in operator.derivative.formulas:
        if not is_differentiable(trial.values[argument]):
            continue
        for result in gradient_names(operator.signature, operator.dtypes):
            if not _agrees(trial, results, result, argument):
                return


def _agrees(trial: Trial, results: Values, result: str, argument: str) -> bool:
    is_declared = bool(trial.operator.forward)
    formula = _formula(trial, result, argument)
    if formula is None:
        return True
    direction = _direction(trial, argument)
    value = trial.values[argument]

    def moved(t: float) -> Any:
        return _joined(trial.results({**trial.values, argument: value + t * direction})[result])

    try:
        found = _joined(trial.evaluator(_names(trial, results, argument, direction))(formula))
        # The reference of an operator in the formula may hold for its own samples only.
        if not broadcasts(found.shape, _joined(results[result]).shape):
            return True
        wrong = disagreement(found, central_difference(moved))
    except EvaluationError as error:
        if is_declared:
            trial.failure(error, f"the tangent of '{result}'")
        return True
    except (DeclarationError, ValueError):
        return True  # what NumPy cannot compute, the generated tests look at
    if wrong is None:
        return True
    message = f"is {wrong[0]:.6g} where differences give {wrong[1]:.6g}"
    if is_declared:
        message = f"the tangent of '{result}' along '{argument}' {message}"
        trial.error(formula, message, f"formula: {formula}")
    else:
        _report_derived(trial, argument, message, formula)
    return False


def _formula(trial: Trial, result: str, argument: str) -> Expression | None:
    """The declared tangent of a result, or the derived part that an argument has in it."""
    if trial.operator.forward:
        return trial.operator.forward.get(result)
    is_complex = any(
        isinstance(v, np.ndarray) and v.dtype.kind == "c" for v in trial.values.values()
    )
    terms = tangent_terms(trial.operator, result, is_complex=is_complex)
    return None if terms is None else terms.get(argument, ZERO)


def _direction(trial: Trial, argument: str) -> Any:
    random = np.random.default_rng(seed_of(trial.operator.full_name, argument, "tangent"))
    value = trial.values[argument]
    direction = random.standard_normal(np.shape(value))
    if np.iscomplexobj(value):
        direction = direction + 1j * random.standard_normal(np.shape(value))
    return np.asarray(direction)


def _names(trial: Trial, results: Values, argument: str, direction: Any) -> Values:
    """What a formula reads; the tangents of the other arguments are zero."""
    names = {**trial.promoted(trial.values), **results}
    for name, value in trial.values.items():
        if isinstance(value, np.ndarray):
            names[tangent_name(name)] = np.zeros_like(value)
    return {**names, tangent_name(argument): direction}


def _joined(value: Any) -> Any:
    """An array, or the elements of a list of arrays in one."""
    if isinstance(value, list | tuple):
        return np.concatenate([np.ravel(v) for v in value])
    return np.asarray(value)


def _report_derived(trial: Trial, argument: str, message: str, formula: Expression) -> None:
    operator, report = trial.operator, trial.report
    for key, names in (("linear_in", operator.linear_in), ("additive", operator.additive)):
        if argument in names and not trial.is_pointwise:
            kind = "linear in" if key == "linear_in" else "a sum with"
            message = f"the result is not {kind} '{argument}': its tangent {message}"
            report.error(message, key, str(names.index(argument)))
            return
    report.error(f"the tangent derived for '{argument}' {message}", hint=f"derived: {formula}")
