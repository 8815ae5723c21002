"""What is declared for forward mode: the arguments that results are linear in, tangent formulas."""

from __future__ import annotations

from flambeau.codegen.check.report import Report
from flambeau.codegen.model.entries import Kind
from flambeau.codegen.model.facts import differentiable_results
from flambeau.codegen.text.source import did_you_mean


def check_forward(report: Report) -> None:
    """No tangent gets lost: every differentiable result has one, along every argument."""
    _check_names(report)
    if report.operator.forward:
        _check_formulas(report)
    else:
        _check_linearity(report)


def _check_names(report: Report) -> None:
    operator = report.operator
    tensors = [a.name for a in operator.tensor_arguments]
    for key, names in (("linear_in", operator.linear_in), ("additive", operator.additive)):
        for index, name in enumerate(names):
            if name not in tensors:
                message = f"'{name}' is not a tensor argument"
                report.error(message, key, str(index), hint=did_you_mean(name, tensors))
    for index, name in enumerate(operator.additive):
        if name in operator.linear_in:
            report.error(f"'{name}' is in linear_in already", "additive", str(index))


def _check_formulas(report: Report) -> None:
    """Each differentiable result has a tangent formula, and nothing else has."""
    operator = report.operator
    if operator.kind is Kind.COMPOSITE:
        hint = "leave it out"
        report.error(
            "the tangent of a composite follows from its body", "forward", key=True, hint=hint
        )
    results = [r.name for r in operator.signature.results]
    results += [a.name for a in operator.tensor_arguments if a.type.mutable]
    differentiable = differentiable_results(operator.signature, operator.dtypes)
    for name in operator.forward:
        if name not in results:
            message = f"'{name}' is not a result"
            report.error(message, "forward", name, key=True, hint=did_you_mean(name, results))
        elif name not in differentiable:
            message = f"'{name}' is not differentiable and has no tangent"
            report.error(message, "forward", name, key=True)
    for name in differentiable:
        if name not in operator.forward:
            hint = "a tangent that is zero is written `zeros_like(RESULT)`"
            report.error(f"'forward' has no formula for '{name}'", "forward", key=True, hint=hint)


def _check_linearity(report: Report) -> None:
    """Where tangents follow from `linear_in`, they follow from every differentiable argument."""
    operator, derivative = report.operator, report.operator.derivative
    if not operator.linear_in or operator.kind is Kind.POINTWISE or derivative is None:
        return
    for name in derivative.formulas:
        if name not in (*operator.linear_in, *operator.additive):
            hint = f"add it, or declare `forward` as a formula of {name}_t and the other tangents"
            message = f"the tangent along '{name}' would be lost: 'linear_in' lacks it"
            report.error(message, "linear_in", key=True, hint=hint)
