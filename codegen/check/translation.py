"""Formulas have a meaning in C++: types fit, and every call finds an overload.

The plans that the emitters print are made, and thrown away.
"""

from __future__ import annotations

from flambeau.codegen.check.cycles import check_cycles
from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.formula.nodes import Binary, Call, Unary, walk
from flambeau.codegen.model.entries import Declarations, Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.kernel_text import fold_text
from flambeau.codegen.plan.operator import operator_text
from flambeau.codegen.plan.translate import Translator
from flambeau.codegen.read.operator_reader import OPERATORS
from flambeau.codegen.text.source import DeclarationError, Diagnostic, Diagnostics
from flambeau.codegen.write.native import pointwise_kernels

TOKENS = frozenset(OPERATORS)


def check_translation(context: Context) -> list[Diagnostic]:
    """What the emitters would complain about."""
    declarations = context.declarations
    translator = Translator(declarations, OperatorIndex(declarations.operators))
    found = Diagnostics()
    unknown = context.incomplete
    if unknown:  # tokens may belong to operators that could not be read
        unknown |= TOKENS - {o.operator for o in declarations.operators if o.operator is not None}
    calls: dict[str, list[str]] = {}
    for operator in context.checked:
        if _called(operator) & unknown:
            continue
        translator.calls.clear()
        try:
            _translate(operator, declarations, translator)
            calls[operator.full_name] = sorted(translator.calls)
        except DeclarationError as error:
            report = Report(operator, found)
            for diagnostic in error.diagnostics:
                own = diagnostic.span.file == operator.span.file
                place = diagnostic.span if own else operator.span
                report.at(place, diagnostic.message, diagnostic.hint, *diagnostic.notes)
    check_cycles(context.checked, calls, found)
    return found.sorted()


def _called(operator: Operator) -> frozenset[str]:
    """The operators, and the tokens that stand for operators, in formulas over tensors."""
    formulas = [value for _, value in operator.body_lets]
    formulas += [operator.body] if operator.body is not None else []
    formulas += operator.derivative.formulas.values() if operator.derivative else ()
    formulas += [*operator.forward.values(), *(value for _, value in operator.skip_when)]
    names = {n.function for f in formulas for n in walk(f) if isinstance(n, Call)}
    tokens = {n.operator for f in formulas for n in walk(f) if isinstance(n, Binary | Unary)}
    return frozenset(names | tokens)


def _translate(operator: Operator, declarations: Declarations, translator: Translator) -> None:
    operator_text(operator, declarations, translator)
    pointwise_kernels(operator, declarations)
    if operator.kind is Kind.REDUCTION:
        fold_text(operator, declarations)
