"""Gradients against finite differences, and at the declared extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.codegen.check.differences import central_difference, disagreement
from flambeau.codegen.check.samples import seed_of
from flambeau.codegen.check.tangents import check_tangents
from flambeau.codegen.check.trial import Trial
from flambeau.codegen.check.values import Values, broadcasts, is_differentiable
from flambeau.codegen.formula.evaluate import EvaluationError
from flambeau.codegen.formula.nodes import Expression


def check_derivatives(trial: Trial) -> None:
    """Compare the declared and derived formulas with differences around the sample."""
    operator = trial.operator
    derivative = operator.derivative
    if derivative is None or derivative.none or not derivative.formulas:
        return
    if any(a.type.mutable for a in operator.signature.arguments):
        return
    agrees = _check_at(trial)
    if (
        agrees
        and trial.is_pointwise
        and "complex128" in operator.dtypes.kernels
        and trial.index == 0
    ):
        values = _complexified(trial)
        _check_at(Trial(trial.report, trial.library, trial.index, values))


def _complexified(trial: Trial) -> Values:
    """Floating tensors with imaginary parts."""
    random = np.random.default_rng(seed_of(trial.operator.full_name, "imaginary"))
    return {
        k: v + 0.7j * random.standard_normal(v.shape) if _is_float(v) else v
        for k, v in trial.values.items()
    }


def _check_at(trial: Trial) -> bool:
    assert trial.operator.derivative is not None
    with np.errstate(all="ignore"):
        try:
            results = trial.results(trial.values)
        except EvaluationError:
            return False  # told where results are compared
        cotangents = _cotangents(trial, results)
        agrees = True
        for name, formula in trial.operator.derivative.formulas.items():
            if is_differentiable(trial.values[name]):
                try:
                    agrees &= _gradient_agrees(trial, name, formula, results, cotangents)
                except EvaluationError as error:
                    trial.failure(error, f"the gradient of '{name}'")
        # Tangents are derived from gradients: those of wrong ones say nothing new.
        if agrees or not trial.is_pointwise:
            check_tangents(trial, results)
        return agrees


def _cotangents(trial: Trial, results: Values) -> Values:
    """Random gradients of the results that can have one, by the name of the result."""
    random = np.random.default_rng(seed_of(trial.operator.full_name, "grad", trial.index))

    def draw(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [draw(v) for v in value]
        grad = random.standard_normal(np.shape(value))
        if np.iscomplexobj(value):
            grad = grad + 1j * random.standard_normal(np.shape(value))
        return np.asarray(grad)

    return {
        name: draw(value)
        for name, value in results.items()
        if isinstance(value, list | tuple) or np.asarray(value).dtype.kind in "fc"
    }


def _gradient_agrees(
    trial: Trial, name: str, formula: Expression, results: Values, cotangents: Values
) -> bool:
    """A gradient formula against differences, elementwise where elements are independent."""
    env = {**trial.promoted(trial.values), **results}
    env |= {f"grad_{result}": grad for result, grad in cotangents.items()}
    if len(cotangents) == 1:
        env["grad"] = next(iter(cotangents.values()))
    found = trial.evaluator(env)(formula)
    value = trial.values[name]
    directions = [1.0, 1.0j] if np.iscomplexobj(value) else [1.0]
    random = np.random.default_rng(seed_of(trial.operator.full_name, name))
    direction = 1.0 if trial.is_pointwise else random.standard_normal(value.shape)
    if not trial.is_pointwise and not broadcasts(np.shape(found), value.shape):
        return True  # the reference of an operator in the formula holds for its own samples only
    for unit in directions:
        along_unit = unit * np.asarray(direction)

        def loss(t: float, step: Any = along_unit) -> Any:
            moved = trial.results({**trial.values, name: value + t * step})
            total: Any = 0.0
            for result, grad in cotangents.items():
                total = total + _inner_product(trial, grad, moved[result])
            return total

        difference = central_difference(loss)
        along = np.real(found * np.conj(unit))
        if not trial.is_pointwise:
            along = np.sum(np.broadcast_to(along, value.shape) * direction)
        wrong = disagreement(along, difference)
        if wrong is not None:
            kind = "" if len(directions) == 1 else " for complex elements"
            trial.error(
                formula,
                f"the gradient of '{name}' is {wrong[0]:.6g}{kind} where finite "
                f"differences give {wrong[1]:.6g}",
                f"formula: {formula}",
            )
            return False
    return True


def _inner_product(trial: Trial, grad: Any, value: Any) -> Any:
    """What the gradient of a result weighs: per element where elements are independent."""
    if isinstance(grad, list):
        return sum(_inner_product(trial, g, v) for g, v in zip(grad, value, strict=True))
    product = np.real(np.conj(grad) * value)
    return product if trial.is_pointwise else np.sum(product)


def check_extremes(trial: Trial) -> None:
    """Gradients are finite at the declared points, wherever the results are."""
    operator = trial.operator
    if operator.derivative is None or not trial.is_pointwise:
        return
    for argument, points in operator.test.extremes.items():
        for name, formula in operator.derivative.formulas.items():
            for dtype in (np.float64, np.float32):
                if not _is_finite(trial, argument, points, dtype, name, formula):
                    break


def _is_finite(
    trial: Trial,
    argument: str,
    points: tuple[float, ...],
    dtype: Any,
    name: str,
    formula: Expression,
) -> bool:
    values = {
        k: dtype(v.flat[0]) if isinstance(v, np.ndarray) and v.size and v.dtype.kind == "f" else v
        for k, v in trial.values.items()
    }
    with np.errstate(all="ignore"):
        values[argument] = np.asarray(points, np.float64).astype(dtype)
        try:
            results = trial.results(values)
            grads = {f"grad_{r}": dtype(1) for r in results} | {"grad": dtype(1)}
            found = trial.evaluator({**trial.promoted(values), **results, **grads})(formula)
        except EvaluationError:
            return True  # told where gradients are compared
    finite = np.isfinite(found)
    for value in results.values():
        finite = finite | ~np.isfinite(value)
    finite = np.broadcast_to(finite, np.shape(values[argument]))
    if not finite.all():
        point = points[int(np.argmin(finite))]
        kind = np.dtype(dtype).name
        message = f"the gradient of '{name}' is not finite at {argument} = {point:g} in {kind}"
        trial.error(formula, message, f"formula: {formula}")
    return bool(finite.all())


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"
