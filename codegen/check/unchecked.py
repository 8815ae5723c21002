"""A kernel sees no integer that nobody looked at: its type says what it is, or an error or the
shape rule reads it.
"""

from __future__ import annotations

from flambeau.codegen.check.report import Report
from flambeau.codegen.formula.nodes import free_names
from flambeau.codegen.model.entries import Base, Kind, Operator, Role

_HINT = (
    "declare it `dim`, `index(dim)` or `size`, or `int(any)` where every value means something, "
    "or name an error that reads it"
)


def check_integers(report: Report) -> None:
    """Report the integers of a kernel written by hand that reach it unchecked."""
    operator = report.operator
    if operator.kind is Kind.REDUCTION:
        _check_reduced(report)
    if operator.kind is not Kind.STRUCTURED or not operator.kernels:
        return
    read = _checked_names(operator)
    for argument in operator.signature.arguments:
        declared = argument.type
        if declared.base is Base.INT and declared.meaning is None and argument.name not in read:
            message = f"the kernel would see '{argument.name}' unchecked"
            report.at(argument.span, message, _HINT)


def _check_reduced(report: Report) -> None:
    """What a fold runs over is a dim, or several."""
    for argument in report.operator.signature.arguments:
        meaning = argument.type.meaning
        if argument.name == "dim" and (meaning is None or meaning.role is not Role.DIM):
            message = "the 'dim' of a reduction is a dim of its tensor"
            report.at(argument.span, message, "write `dim dim` or `dim[]? dim=None`")


def _checked_names(operator: Operator) -> frozenset[str]:
    """The names that errors and the shape rule read."""
    formulas = [constraint.require for constraint in operator.constraints]
    rule = operator.shape
    if rule is not None:
        formulas += [*rule.shapes.values(), *(value for _, value in rule.lets)]
        formulas += [rule.strides] if rule.strides is not None else []
    return frozenset[str]().union(*(free_names(formula) for formula in formulas))
