"""An entry evaluated in NumPy, before any compiler runs: its results as its formulas give them, its
reference's, and its derivatives beside finite differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flambeau.codegen.check.differences import Difference, central_difference, disagreement
from flambeau.codegen.check.formulas import FormulaEvaluator, reference_value
from flambeau.codegen.check.values import (
    TOLERANCE,
    Values,
    close,
    is_differentiable,
    named_results,
    reduction_rows,
    result_names,
    worst,
)
from flambeau.codegen.formula.evaluate import EvaluationError
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.formula.nodes import Expression, NoneLiteral
from flambeau.codegen.model.entries import Declarations, Kind, Operator
from flambeau.codegen.model.facts import gradient_names
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.tensor.forward import tangent_name, tangent_terms

# Differences are taken element by element: five evaluations each.
MOST_ELEMENTS = 64


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two ways to the same numbers."""

    what: str
    found: Any
    expected: Any
    mistake: str | None = None  # where they disagree most
    elements: str = ""  # which of the elements were compared, where not all


class Experiment:
    """One call of an operator.

    Raises:
        EvaluationError: the entry says nothing that NumPy could compute.
    """

    def __init__(self, operator: Operator, values: Values, declarations: Declarations) -> None:
        self.operator = operator
        self.values = self._converted(values, declarations)
        self._table = load_functions()
        self._index = OperatorIndex(declarations.operators)
        self.source = self._formulas()
        self.shortfall: str | None = None  # why the reference stands in for the formulas
        try:
            self.results()
        except EvaluationError as error:
            if operator.test.reference is None or self.source == "reference":
                raise
            self.source, self.shortfall = "reference", f"'{self.source}': {error}"
            self.results()

    def _formulas(self) -> str:
        """The key of the entry that the results are computed from."""
        operator = self.operator
        if operator.kind is Kind.POINTWISE and operator.random is None:
            return "expr"
        if operator.kind is Kind.REDUCTION:
            return "reduce"
        if operator.kind is Kind.COMPOSITE:
            return "body"
        if operator.kind is Kind.VIEW and operator.shape and operator.shape.strides is not None:
            return "shape"
        return "reference"

    def results(self, values: Values | None = None) -> Values:
        """The results by name."""
        values = self.values if values is None else values
        with np.errstate(all="ignore"):
            found = getattr(self, f"_from_{self.source}")(values)
        return named_results(self.operator, found)

    def references(self) -> Iterator[Comparison]:
        """The results beside those of the reference."""
        if self.operator.test.reference is None or self.source == "reference":
            return
        expected = self._from_reference(self.values)
        results = self.results()
        for name, want in named_results(self.operator, expected).items():
            yield Comparison(name, results[name], want, _mismatch(results[name], want, self._limit))

    @property
    def _limit(self) -> float:
        return self.operator.test.tolerance or TOLERANCE

    # --- derivatives ---

    def differentiable(self) -> list[str]:
        """The arguments that have a gradient and were given floating or complex numbers."""
        return [
            a.name
            for a in self.operator.tensor_arguments
            if not a.type.mutable and is_differentiable(self.values.get(a.name))
        ]

    def gradients(self, grads: Values) -> Iterator[Comparison]:
        """Gradient formulas beside differences of `sum(grad * result)`; `grads`: result -> grad."""
        results = self.results()
        for name in self.differentiable():
            formula, value = self._formula(name), self.values[name]
            difference, places = self._differences(name, grads)
            expected = difference.value
            kinks = int(np.sum(~difference.trusted))
            note = f"{len(places)} of {value.size} elements" if len(places) < value.size else ""
            note += f"{', ' if note else ''}{kinks} at a kink" if kinks else ""
            if len(places) == value.size:
                expected = expected.reshape(value.shape)
            if formula is None:
                yield Comparison(name, None, expected, None, note)
                continue
            try:
                found = self._gradient(formula, results, grads)
                found = _summed_to(found if np.iscomplexobj(value) else np.real(found), value.shape)
            except EvaluationError as error:
                yield Comparison(name, None, expected, None, f"{error}")
                continue
            except ValueError:
                # As of a formula that calls an operator for other shapes than its samples have.
                why = "a reference of an operator in the formula does not hold for these shapes"
                yield Comparison(name, None, expected, None, why)
                continue
            wrong = disagreement(found.reshape(-1)[places], difference)
            if len(places) < value.size:
                found = found.reshape(-1)[places]
            yield Comparison(name, found, expected, _told(wrong), note)

    def _formula(self, name: str) -> Expression | None:
        derivative = self.operator.derivative
        return derivative.formulas.get(name) if derivative is not None else None

    def _gradient(self, formula: Expression, results: Values, grads: Values) -> Any:
        names = gradient_names(self.operator.signature, self.operator.dtypes)
        given = {names[r]: g for r, g in grads.items() if r in names}
        given |= {f"grad_{r}": g for r, g in grads.items()}
        with np.errstate(all="ignore"):
            return self._evaluator({**self.values, **results, **given})(formula)

    def _differences(self, name: str, grads: Values) -> tuple[Difference, Any]:
        """d sum(grad * result) / d element, and the places of those elements."""
        value = self.values[name]
        count = min(value.size, MOST_ELEMENTS)
        places = np.unique(np.linspace(0, max(value.size - 1, 0), count).astype(int))
        found = np.zeros(len(places), value.dtype)
        error, trusted = np.zeros(len(places)), np.ones(len(places), bool)
        for position, place in enumerate(places):
            for unit in (1, 1j) if np.iscomplexobj(value) else (1,):
                step = np.zeros(value.size, value.dtype)
                step[place] = unit
                one = central_difference(self._loss(name, step.reshape(value.shape), grads))
                found[position] += unit * one.value
                error[position] += one.error
                trusted[position] &= bool(one.trusted)
        return Difference(found, error, trusted), places

    def _loss(self, name: str, direction: Any, grads: Values) -> Callable[[float], Any]:
        moved = self._along(name, direction)
        return lambda t: _loss(moved(t), grads)

    def _moved(self, name: str, direction: Any, result: str) -> Callable[[float], Any]:
        moved = self._along(name, direction)
        return lambda t: moved(t)[result]

    def _along(self, name: str, direction: Any) -> Callable[[float], Values]:
        return lambda t: self.results({**self.values, name: self.values[name] + t * direction})

    def tangents(self, directions: Values) -> Iterator[Comparison]:
        """Tangents of the result, one argument at a time, beside differences along a direction."""
        is_complex = any(np.iscomplexobj(v) for v in self.values.values())
        results = self.results()
        if len(results) != 1 or self.operator.forward:
            return
        ((result, value),) = results.items()
        if isinstance(value, list | tuple):
            return
        terms = tangent_terms(self.operator, result, is_complex=is_complex) or {}
        for name, term in terms.items():
            if name not in directions:
                continue
            given = {**self.values, **results, tangent_name(name): directions[name]}
            with np.errstate(all="ignore"):
                found = self._evaluator(given)(term)
            difference = central_difference(self._moved(name, directions[name], result))
            wrong = disagreement(found, difference)
            yield Comparison(name, found, difference.value, _told(wrong))

    # --- what the results come from ---

    def _evaluator(self, values: Mapping[str, Any]) -> FormulaEvaluator:
        return FormulaEvaluator(values, self._table, self._index)

    def _from_expr(self, values: Values) -> Any:
        evaluator = self._evaluator(values)
        for name, formula in self.operator.expressions.items():
            evaluator.names[name] = evaluator(formula)
        found = [evaluator.names[name] for name in result_names(self.operator)]
        return found[0] if len(found) == 1 else found

    def _from_body(self, values: Values) -> Any:
        evaluator = self._evaluator(values)
        for name, formula in self.operator.body_lets:
            evaluator.names[name] = evaluator(formula)
        assert self.operator.body is not None
        return evaluator(self.operator.body)

    def _from_shape(self, values: Values) -> Any:
        """A view: the declared geometry over the memory of its argument."""
        rule, base = self.operator.shape, self.operator.tensor_arguments[0].name
        assert rule is not None and rule.strides is not None
        whole = np.ascontiguousarray(values[base])
        size = whole.itemsize
        evaluator = _GeometryEvaluator(values, self._table, self._index)
        evaluator.geometry = {base: ([s // size for s in whole.strides], 0)}
        for names, formula in rule.lets:
            value = evaluator(formula)
            evaluator.names.update(zip(names, (value,) if len(names) == 1 else value, strict=True))
        shape = evaluator(next(iter(rule.shapes.values())))
        strides = evaluator(rule.strides)
        offset = evaluator(rule.offset) if rule.offset is not None else 0
        flat = whole.reshape(-1)[offset:]
        return np.lib.stride_tricks.as_strided(flat, shape, [s * size for s in strides])

    def _from_reduce(self, values: Values) -> Any:
        """The fold, element after element; the second half apart, and then combined."""
        fold = self.operator.reduce
        assert fold is not None
        array = np.asarray(values[self.operator.tensor_arguments[0].name])
        rows, dims = reduction_rows(array, values.get("dim"))
        half = rows.shape[1] // 2
        evaluator = self._evaluator(values)

        def part(elements: Any) -> Any:
            acc = np.broadcast_to(np.asarray(evaluator(fold.init)), (rows.shape[0],))
            for column in range(elements.shape[1]):
                evaluator.names.update(acc=acc, x=elements[:, column])
                acc = np.asarray(evaluator(fold.step))
            return acc

        evaluator.names.update(a=part(rows[:, :half]), b=part(rows[:, half:]))
        evaluator.names.update(acc=evaluator(fold.combine), n=rows.shape[1])
        sizes = [1 if d in dims else s for d, s in enumerate(array.shape)]
        whole = np.asarray(evaluator(fold.finish)).reshape(sizes)
        return whole if values.get("keepdim") else whole.squeeze(dims)

    def _from_reference(self, values: Values) -> Any:
        node = NoneLiteral(span=self.operator.span)
        with np.errstate(all="ignore"):
            return reference_value(self.operator, values, self._table, self._index, node)

    def _converted(self, values: Values, declarations: Declarations) -> Values:
        """Tensors as the operator computes with them: integers where it takes integers."""
        integers = {d.name for d in declarations.dtypes if d.category not in ("float", "complex")}
        found = dict(values)
        for argument in self.operator.tensor_arguments:
            value = found[argument.name]
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "biu":
                continue
            accepts = self.operator.dtypes.accepts[argument.name]
            if self.operator.dtypes.integers_to_float or not accepts & integers:
                found[argument.name] = value.astype(np.float64)
        return found


class _GeometryEvaluator(FormulaEvaluator):
    """Knows the strides and the offset of the argument of a view."""

    geometry: Mapping[str, tuple[list[int], int]]

    def attribute(self, node: Any) -> Any:
        found = self.geometry.get(getattr(node.value, "identifier", ""))
        if found is not None and node.name in ("strides", "offset"):
            return found[0] if node.name == "strides" else found[1]
        return super().attribute(node)


def violations(operator: Operator, values: Values, declarations: Declarations) -> Iterator[str]:
    """Declared errors that a call raises. What NumPy cannot tell is passed over."""
    index = OperatorIndex(declarations.operators)
    evaluator = FormulaEvaluator(values, load_functions(), index)
    try:
        for names, formula in operator.shape.lets if operator.shape else ():
            value = evaluator(formula)
            several = (value,) if len(names) == 1 else value
            evaluator.names.update(zip(names, several, strict=True))
    except (EvaluationError, ValueError):
        return
    for constraint in operator.constraints:
        try:
            if not np.all(evaluator(constraint.require)):
                parts = (p if isinstance(p, str) else evaluator(p) for p in constraint.parts)
                yield f"{constraint.exception}: {''.join(str(p) for p in parts)}"
        except EvaluationError:
            continue


def _loss(results: Values, grads: Values) -> Any:
    """What the gradients are gradients of."""
    total: Any = 0.0
    for name, grad in grads.items():
        pairs = (
            zip(grad, results[name], strict=True)
            if isinstance(grad, list)
            else [(grad, results[name])]
        )
        total = total + sum(np.sum(np.real(np.conj(g) * r)) for g, r in pairs)
    return total


def _summed_to(gradient: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of a tensor that was broadcast: summed over what broadcasting repeated."""
    gradient = np.asarray(gradient)
    lead = gradient.ndim - len(shape)
    if lead > 0:
        gradient = gradient.sum(axis=tuple(range(lead)))
    kept = shape[len(shape) - gradient.ndim :]
    stretched = [d for d, (g, s) in enumerate(zip(gradient.shape, kept, strict=True)) if g > s == 1]
    return np.broadcast_to(gradient.sum(axis=tuple(stretched), keepdims=True), shape)


def _told(wrong: tuple[float, float] | None) -> str | None:
    return None if wrong is None else f"{wrong[0]:.6g} instead of {wrong[1]:.6g}"


def _mismatch(found: Any, expected: Any, limit: float) -> str | None:
    """Where two values differ most, beyond the limit."""
    if isinstance(found, list | tuple):
        pairs = zip(found, expected, strict=True)
        return next((m for f, e in pairs if (m := _mismatch(f, e, limit))), None)
    if np.shape(found) == np.shape(expected) and close(found, expected, limit):
        return None
    if np.shape(found) != np.shape(expected):
        return f"shape {list(np.shape(found))} instead of {list(np.shape(expected))}"
    return " instead of ".join(worst(found, expected))
