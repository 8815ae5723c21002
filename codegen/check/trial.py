"""An operator with the values of one of its samples: what the checks that compute start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flambeau.codegen.check.formulas import FormulaEvaluator, bind, plausible, reference_value
from flambeau.codegen.check.report import Report
from flambeau.codegen.check.samples import parse_sample, sample_value, seed_of
from flambeau.codegen.check.values import Values, described, named_results
from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.evaluate import EvaluationError, MissingError
from flambeau.codegen.formula.functions import FunctionTable
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.to_numpy import ElementEvaluator
from flambeau.codegen.model.entries import Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.text.source import DeclarationError, Note, Span, Text
from flambeau.codegen.text.tree import Mapping as Tree
from flambeau.codegen.text.tree import Sequence as TreeSequence


@dataclass(frozen=True, slots=True)
class Library:
    """What formulas and samples may call and mention."""

    table: FunctionTable
    operators: OperatorIndex


class Trial:
    """An operator called with some values."""

    def __init__(self, report: Report, library: Library, index: int, values: Values) -> None:
        self.report = report
        self.operator: Operator = report.operator
        self.library = library
        self.index = index
        self.values = values
        self.is_pointwise = is_evaluated(self.operator)

    @cached_property
    def expected(self) -> Values:
        """What the reference gives, by the name of the result or of the argument written.

        Raises EvaluationError.
        """
        with np.errstate(all="ignore"):
            return named_results(self.operator, self.reference(self.values))

    def results(self, values: Mapping[str, Any]) -> Values:
        """The results for other values: from the expressions of a pointwise operator, else from
        the reference.
        """
        if self.is_pointwise:
            evaluator = ElementEvaluator(self.promoted(values), self.library.table)
            found: Values = {}
            for name, formula in self.operator.expressions.items():
                found[name] = evaluator(formula)
                evaluator.names[name] = found[name]
            return found
        with np.errstate(all="ignore"):
            return named_results(self.operator, self.reference(values))

    def reference(self, values: Mapping[str, Any]) -> Any:
        """What the reference, or else the body, gives for some values."""
        node = nodes.NoneLiteral(span=self.operator.span)
        library = self.library
        return reference_value(self.operator, values, library.table, library.operators, node)

    def evaluator(self, names: Mapping[str, Any]) -> FormulaEvaluator:
        """Evaluates formulas over tensors; hidden results are missing: no reference gives them."""
        hidden = {r.name for r in self.operator.signature.results if r.hidden}
        library = self.library
        return FormulaEvaluator(names, library.table, library.operators, hidden - names.keys())

    def promoted(self, values: Mapping[str, Any]) -> Values:
        """Integer tensors as the operator computes with them."""
        if not self.operator.dtypes.integers_to_float:
            return dict(values)
        return {
            k: v.astype(np.float64) if isinstance(v, np.ndarray) and v.dtype.kind in "biu" else v
            for k, v in values.items()
        }

    def error(self, formula: Expression, message: str, hint: str | None = None) -> None:
        """A mistake in a formula, or in the entry where the formula was derived from others."""
        span = nodes.first_span(formula)
        own = span is not None and span.file == self.operator.span.file
        self.report.at(span if own and span is not None else self.operator.span, message, hint)

    def failure(self, error: EvaluationError, what: str) -> None:
        """A formula that cannot be evaluated, unless NumPy only lacks what it calls."""
        if not isinstance(error, MissingError):
            self.error(error.node, f"{what} cannot be evaluated: {error}", error.hint)


def is_evaluated(operator: Operator) -> bool:
    """Whether the results follow from element formulas."""
    return operator.kind is Kind.POINTWISE and operator.random is None


def sampled(report: Report, sample: Mapping[str, str], seed: int, *path: str) -> Values | None:
    """The arguments of a sample, which stands at `path` of the entry; None, with the mistakes
    reported, where it is no call.
    """
    operator = report.operator
    given: Values = {}
    for name, source in sample.items():
        try:
            number = seed_of(operator.full_name, seed, name)
            given[name] = sample_value(source, number)
        except (EvaluationError, DeclarationError) as error:
            node = _node(report, *path, name)
            _relocate(report, node, "the sample does not evaluate", error, *path, name)
    if len(given) < len(sample):
        return None
    values = bind(operator, (), given)
    if values is None:
        misfits = [name for name, value in given.items() if not _fits(operator, name, value)]
        for name in misfits:  # what is missing is told by the structural check
            declared = operator.argument(name).type
            what = described(given[name])
            report.error(f"the sample gives '{name}' {what}, which is no {declared}", *path, name)
    return values


def check_sources(report: Report) -> bool:
    """Whether the reference and the properties parse; what is wrong is reported."""
    test = report.operator.test
    sources: list[tuple[str, tuple[str, ...]]] = []
    if test.reference is not None:
        sources.append((test.reference, ("reference",)))
    sources += [(p, ("properties", str(i))) for i, p in enumerate(test.properties)]
    sound = True
    for source, path in sources:
        try:
            parse_sample(source)
        except DeclarationError as error:
            _relocate(report, _node(report, "test", *path), "", error, "test", *path)
            sound = False
    return sound


def reference_failure(report: Report, error: EvaluationError) -> None:
    """The reference raises."""
    if not isinstance(error, MissingError):
        node = _node(report, "test", "reference")
        what = "the reference cannot be evaluated"
        _relocate(report, node, what, error, "test", "reference")


def _fits(operator: Operator, name: str, value: Any) -> bool:
    return name not in [a.name for a in operator.signature.arguments] or plausible(
        operator.argument(name), value
    )


def _node(report: Report, *path: str) -> Text | None:
    """The text that stands at a path of the entry."""
    node: Any = report.operator.entry
    for step in path:
        if isinstance(node, Tree):
            node = node.get(step)
        elif isinstance(node, TreeSequence):
            node = node.items[int(step)]
    return node if isinstance(node, Text) else None


def _relocate(
    report: Report,
    text: Text | None,
    what: str,
    error: EvaluationError | DeclarationError,
    *path: str,
) -> None:
    """Report an error whose places count from the start of a text."""
    problems: list[tuple[Span | None, str, str | None, tuple[Note, ...]]]
    if isinstance(error, DeclarationError):
        problems = [(d.span, d.message, d.hint, d.notes) for d in error.diagnostics]
    else:
        message = f"{what}: {error}"
        problems = [(nodes.first_span(error.node), message, error.hint, error.notes)]
    for span, message, hint, notes in problems:
        place = report.place(*path)
        if text is not None and span is not None and span.file == "<sample>":
            place = text.at(span.column - 1, span.length)
        report.at(place, message, hint, *notes)
