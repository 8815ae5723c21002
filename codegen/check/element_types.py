"""Formulas of elements fit the dtypes that they are computed with."""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.formula.nodes import Binary, Boolean, Call, Compare, Expression, Unary, walk
from flambeau.codegen.model.entries import Kind

_INTEGERS = ("unsigned", "signed")
_NUMBERS = ("float", "complex")


def check_element_types(report: Report, context: Context) -> None:
    """Report what would be computed with integers and should not be, and bits of floats."""
    operator = report.operator
    if operator.kind is not Kind.POINTWISE:
        return
    category = {d.name: d.category for d in context.declarations.dtypes}
    accepted = {name for accepts in operator.dtypes.accepts.values() for name in accepts}
    found = {category.get(name) for name in operator.dtypes.kernels if name in accepted}
    for formula in operator.expressions.values():
        if not found.isdisjoint(_NUMBERS):
            _check_bits(formula, report)
        if not found.isdisjoint(_INTEGERS) and not operator.dtypes.integers_to_float:
            _check_functions(formula, report)


def _check_bits(formula: Expression, report: Report) -> None:
    for node in walk(formula):
        if not isinstance(node, Binary) or node.operator != "^":
            continue
        if not (_is_condition(node.left) and _is_condition(node.right)):
            message = "'^' is the exclusive or of bits, which floating numbers do not have"
            hint = "a power is written `**`"
            report.at(node.span or report.place("expr"), message, hint)


def _is_condition(node: Expression) -> bool:
    if isinstance(node, Call):
        function = load_functions().get(node.function)
        return function is not None and function.result == "bool"
    is_not = isinstance(node, Unary) and node.operator == "not"
    return is_not or isinstance(node, Compare | Boolean)


def _check_functions(formula: Expression, report: Report) -> None:
    """Kernels of integers would cut off what functions of floating numbers give."""
    tensors = [a.name for a in report.operator.tensor_arguments]
    for node in _of_numbers(formula):
        message = f"'{node.function}' is a function of floating numbers; integers are accepted too"
        if report.operator.entry is not None and report.operator.entry.get("dtypes") is None:
            message += ", since 'dtypes' is not given"
        hint = (
            f"write `dtypes: {{{', '.join(f'{name}: float' for name in tensors)}}}`, or add "
            "`int: promote`, with which integers are computed as floats"
        )
        report.at(node.span or report.place("expr"), message, hint)
        return


def _of_numbers(formula: Expression) -> Iterator[Call]:
    table = load_functions()
    for node in walk(formula):
        if isinstance(node, Call) and node.function in table:
            function = table[node.function]
            if "integral" not in function.accepts and function.result != "bool":
                yield node
