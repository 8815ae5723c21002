"""Checks of the declared mathematics, before any compiler runs.

A formula is compared with the entry's independent reference, derivatives with finite differences,
forward mode with directional differences, and derivatives are finite at the declared extremes. What
cannot be evaluated in NumPy is left to the generated tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from flambeau.codegen.check.differences import central_difference, disagreement
from flambeau.codegen.check.formulas import FormulaEvaluator, bind, reference_value
from flambeau.codegen.check.samples import sample_value, seed_of
from flambeau.codegen.expression import nodes
from flambeau.codegen.expression.evaluate import EvaluationError, UnavailableError
from flambeau.codegen.expression.forward import tangent_name, tangent_terms
from flambeau.codegen.expression.functions import FunctionTable, load_functions
from flambeau.codegen.expression.nodes import Expression
from flambeau.codegen.expression.operators import OperatorIndex
from flambeau.codegen.expression.to_numpy import ElementEvaluator
from flambeau.codegen.model import Declarations, Kind, Operator
from flambeau.codegen.source import DeclarationError, Diagnostic

_SAMPLES_DIFFERENTIATED = 2
Values = dict[str, Any]


def check_mathematics(declarations: Declarations) -> list[Diagnostic]:
    """Every disagreement that can be found without compiling."""
    context = _Context(load_functions(), OperatorIndex(declarations.operators))
    found: list[Diagnostic] = []
    for operator in declarations.operators:
        found.extend(_Checker(operator, context).diagnostics())
    return found


class _Context:
    def __init__(self, table: FunctionTable, operators: OperatorIndex) -> None:
        self.table = table
        self.operators = operators


class _Checker:
    """The checks of one operator."""

    def __init__(self, operator: Operator, context: _Context) -> None:
        self.operator = operator
        self.context = context
        self.is_pointwise = operator.kind is Kind.POINTWISE and operator.random is None

    def diagnostics(self) -> Iterator[Diagnostic]:
        differentiated = 0
        try:
            for index, sample in enumerate(self.operator.test.samples):
                values = self.sample(index, sample)
                if values is None:
                    continue
                yield from self.compare_with_reference(values)
                sizes = [v.size for v in values.values() if isinstance(v, np.ndarray)]
                if self.operator.test.gradient and 0 not in sizes:
                    if differentiated < _SAMPLES_DIFFERENTIATED:
                        yield from self.differentiate(values, index)
                    differentiated += 1
            if self.is_pointwise:
                yield from self.extremes()
        except UnavailableError:
            return

    def at(self, formula: Expression | None, message: str, hint: str | None = None) -> Diagnostic:
        span = nodes.first_span(formula) if formula is not None else None
        own = span is not None and span.file == self.operator.span.file
        place = span if own and span is not None else self.operator.span
        return Diagnostic(place, f"{self.operator.full_name}: {message}", hint)

    # --- values ---

    def sample(self, index: int, sample: Mapping[str, str]) -> Values | None:
        """Argument values by name; None for a sample that is no call (what is wrong is told
        elsewhere).
        """
        try:
            given = {
                name: sample_value(source, seed_of(self.operator.full_name, index, name))
                for name, source in sample.items()
            }
        except (EvaluationError, DeclarationError):
            return None
        return bind(self.operator, (), given)

    def results(self, values: Mapping[str, Any]) -> Values:
        """The results by name: from the expressions of a pointwise operator, else from the
        reference.
        """
        names = [r.name for r in self.operator.signature.results if not r.hidden]
        if self.is_pointwise:
            evaluator = ElementEvaluator(self.promoted(values), self.context.table)
            found: Values = {}
            for name, formula in self.operator.expressions.items():
                found[name] = evaluator(formula)
                evaluator.names[name] = found[name]
            return found
        with np.errstate(all="ignore"):
            value = self.reference(values)
        several = value if len(names) != 1 else (value,)
        return dict(zip(names, several, strict=True))

    def reference(self, values: Mapping[str, Any]) -> Any:
        context = self.context
        node = nodes.NoneLiteral(span=self.operator.span)
        return reference_value(self.operator, values, context.table, context.operators, node)

    def promoted(self, values: Mapping[str, Any]) -> Values:
        """Integer tensors as the operator computes with them."""
        if not self.operator.dtypes.integers_to_float:
            return dict(values)
        return {
            k: v.astype(np.float64) if isinstance(v, np.ndarray) and v.dtype.kind in "biu" else v
            for k, v in values.items()
        }

    # --- the reference ---

    def compare_with_reference(self, values: Values) -> Iterator[Diagnostic]:
        operator = self.operator
        if not self.is_pointwise or operator.test.reference is None or not operator.expressions:
            return
        names = [r.name for r in operator.signature.results if not r.hidden]
        names = names or [a.name for a in operator.signature.arguments if a.type.mutable]
        try:
            with np.errstate(all="ignore"):
                found, expected = self.results(values), self.reference(values)
        except EvaluationError as error:
            message = f"the reference cannot be evaluated: {error}"
            if not _is_missing(error):
                yield self.at(None, message)
            return
        for name, want in zip(names, expected if len(names) > 1 else (expected,), strict=False):
            formula = operator.expressions.get(name)
            if formula is None or _close(found[name], want, operator.test.tolerance):
                continue
            got, wanted = _worst(found[name], want)
            yield self.at(
                formula,
                f"the formula gives {got} where the reference gives {wanted}",
                f"reference: {operator.test.reference}",
            )

    # --- derivatives ---

    def differentiate(self, values: Values, index: int) -> Iterator[Diagnostic]:
        derivative = self.operator.derivative
        if derivative is None or derivative.none or not derivative.formulas:
            return
        if any(a.type.mutable for a in self.operator.signature.arguments):
            return
        yield from self.differentiate_at(values, index)
        if self.is_pointwise and "complex128" in self.operator.dtypes.kernels and index == 0:
            yield from self.differentiate_at(self.complexified(values), index)

    def complexified(self, values: Values) -> Values:
        """Floating tensors with imaginary parts."""
        random = np.random.default_rng(seed_of(self.operator.full_name, "imaginary"))
        return {
            k: v + 0.7j * random.standard_normal(v.shape) if _is_float(v) else v
            for k, v in values.items()
        }

    def differentiate_at(self, values: Values, index: int) -> Iterator[Diagnostic]:
        assert self.operator.derivative is not None
        try:
            with np.errstate(all="ignore"):
                results = self.results(values)
                cotangents = self.cotangents(results, index)
                for name, formula in self.operator.derivative.formulas.items():
                    if _is_differentiable(values[name]):
                        yield from self.gradient(name, formula, values, results, cotangents)
                if self.is_pointwise:
                    yield from self.forward(values, results)
        except (EvaluationError, DeclarationError):
            return  # not expressible in NumPy: the generated tests look at it

    def cotangents(self, results: Values, index: int) -> Values:
        """Random gradients of the results that can have one: grad_NAME, and `grad` if there is one
        only.
        """
        random = np.random.default_rng(seed_of(self.operator.full_name, "grad", index))

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

    def gradient(
        self, name: str, formula: Expression, values: Values, results: Values, cotangents: Values
    ) -> Iterator[Diagnostic]:
        """A gradient formula against differences, elementwise where elements are independent."""
        env = {**self.promoted(values), **results}
        env |= {f"grad_{result}": grad for result, grad in cotangents.items()}
        if len(cotangents) == 1:
            env["grad"] = next(iter(cotangents.values()))
        found = FormulaEvaluator(env, self.context.table, self.context.operators)(formula)
        value = values[name]
        directions = [1.0, 1.0j] if np.iscomplexobj(value) else [1.0]
        random = np.random.default_rng(seed_of(self.operator.full_name, name))
        direction = 1.0 if self.is_pointwise else random.standard_normal(value.shape)
        if not self.is_pointwise and not _broadcasts(np.shape(found), value.shape):
            return  # the reference of an operator in the formula holds for its own samples only
        for unit in directions:
            along_unit = unit * np.asarray(direction)

            def loss(t: float, step: Any = along_unit) -> Any:
                moved = self.results({**values, name: value + t * step})
                total: Any = 0.0
                for result, grad in cotangents.items():
                    total = total + self.inner_product(grad, moved[result])
                return total

            difference = central_difference(loss)
            along = np.real(found * np.conj(unit))
            if not self.is_pointwise:
                along = np.sum(np.broadcast_to(along, value.shape) * direction)
            wrong = disagreement(along, difference)
            if wrong is not None:
                kind = "" if len(directions) == 1 else " for complex elements"
                yield self.at(
                    formula,
                    f"the gradient of '{name}' is {wrong[0]:.6g}{kind} where finite "
                    f"differences give {wrong[1]:.6g}",
                    f"formula: {formula}",
                )
                return

    def inner_product(self, grad: Any, value: Any) -> Any:
        """What the gradient of a result weighs: per element where elements are independent."""
        if isinstance(grad, list):
            return sum(self.inner_product(g, v) for g, v in zip(grad, value, strict=True))
        product = np.real(np.conj(grad) * value)
        return product if self.is_pointwise else np.sum(product)

    def forward(self, values: Values, results: Values) -> Iterator[Diagnostic]:
        """Derived forward-mode formulas against directional differences."""
        is_complex = any(np.iscomplexobj(v) for v in values.values())
        terms = tangent_terms(self.operator, is_complex=is_complex)
        if not terms or len(results) != 1:
            return
        random = np.random.default_rng(seed_of(self.operator.full_name, "tangent"))
        (result,) = results
        for name, term in terms.items():
            value = values[name]
            if not _is_differentiable(value):
                continue
            tangent = random.standard_normal(np.shape(value))
            if np.iscomplexobj(value):
                tangent = tangent + 1j * random.standard_normal(np.shape(value))
            env = {**self.promoted(values), **results, tangent_name(name): tangent}
            found = FormulaEvaluator(env, self.context.table, self.context.operators)(term)

            def moved(t: float, name: str = name, value: Any = value, along: Any = tangent) -> Any:
                return self.results({**values, name: value + t * along})[result]

            wrong = disagreement(found, central_difference(moved))
            if wrong is not None:
                yield self.at(
                    None,
                    f"the tangent derived for '{name}' is {wrong[0]:.6g} where differences give "
                    f"{wrong[1]:.6g}",
                    f"derived: {term}",
                )
                return

    # --- extremes ---

    def extremes(self) -> Iterator[Diagnostic]:
        operator = self.operator
        if operator.derivative is None or not operator.test.extremes or not operator.test.samples:
            return
        first = self.sample(0, operator.test.samples[0])
        if first is None:
            return
        for argument, points in operator.test.extremes.items():
            for dtype in (np.float64, np.float32):
                yield from self.extreme(first, argument, points, dtype)

    def extreme(
        self, first: Values, argument: str, points: tuple[float, ...], dtype: Any
    ) -> Iterator[Diagnostic]:
        assert self.operator.derivative is not None
        values = {
            k: dtype(v.flat[0])
            if isinstance(v, np.ndarray) and v.size and v.dtype.kind == "f"
            else v
            for k, v in first.items()
        }
        values[argument] = np.asarray(points, dtype)
        for name, formula in self.operator.derivative.formulas.items():
            try:
                with np.errstate(all="ignore"):
                    results = self.results(values)
                    grads = {f"grad_{r}": dtype(1) for r in results} | {"grad": dtype(1)}
                    env = {**self.promoted(values), **results, **grads}
                    found = FormulaEvaluator(env, self.context.table, self.context.operators)(
                        formula
                    )
            except (EvaluationError, DeclarationError):
                continue
            finite = np.isfinite(found)
            for value in results.values():
                finite = finite | ~np.isfinite(value)
            finite = np.broadcast_to(finite, np.shape(values[argument]))
            if not finite.all():
                point = points[int(np.argmin(finite))]
                kind = np.dtype(dtype).name
                yield self.at(
                    formula,
                    f"the gradient of '{name}' is not finite at {argument} = {point:g} in {kind}",
                )


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _is_missing(error: EvaluationError) -> bool:
    """Whether an evaluation failed for what NumPy lacks, not for a mistake in the text."""
    return "NumPy equivalent" in str(error) or "no reference" in str(error)


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def _close(found: Any, expected: Any, tolerance: float | None) -> bool:
    limit = tolerance if tolerance is not None else 1e-7
    try:
        found, expected = np.broadcast_arrays(np.asarray(found), np.asarray(expected))
    except ValueError:
        return False
    if found.dtype.kind in "OU" or expected.dtype.kind in "OU":
        return bool(np.all(found == expected))
    return bool(np.allclose(found, expected, rtol=limit, atol=limit, equal_nan=True))


def _worst(found: Any, expected: Any) -> tuple[str, str]:
    try:
        found, expected = np.broadcast_arrays(np.asarray(found), np.asarray(expected))
    except ValueError:
        return f"the shape {list(np.shape(found))}", f"{list(np.shape(expected))}"
    with np.errstate(all="ignore"):
        distance = np.abs(np.subtract(found, expected, dtype=np.complex128))
    worst = np.unravel_index(int(np.argmax(np.nan_to_num(distance, nan=np.inf))), distance.shape)
    return f"{found[worst]:.9g}", f"{expected[worst]:.9g}"
