"""The parts of a declaration agree with each other and with the other declarations."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from flambeau.codegen.check.calls import Overloads
from flambeau.codegen.check.element_types import check_element_types
from flambeau.codegen.check.examples import check_example
from flambeau.codegen.check.forward import check_forward
from flambeau.codegen.check.graph import check_graph
from flambeau.codegen.check.hidden import check_hidden
from flambeau.codegen.check.kinds import check_arguments_read, check_kind
from flambeau.codegen.check.names import NameCheck
from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.check.unchecked import check_integers
from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.simplify import simplify
from flambeau.codegen.model.entries import Base, Kind, Operator
from flambeau.codegen.model.facts import (
    WRITTEN,
    differentiable_arguments,
    differentiable_results,
    gradient_names,
    written_argument,
)
from flambeau.codegen.read.gradients import automatic_formula, has_expressions
from flambeau.codegen.read.loader import Partial
from flambeau.codegen.text.source import (
    DeclarationError,
    Diagnostic,
    Diagnostics,
    did_you_mean,
)
from flambeau.codegen.text.tree import Mapping


def check_structure(context: Context) -> list[Diagnostic]:
    """Every structural mistake in all operators."""
    diagnostics = Diagnostics()
    overloads = Overloads(context.declarations)
    names = NameCheck(context, overloads)
    documented = overloads.names | context.incomplete
    documented |= {o.full_name for o in context.declarations.operators}
    for operator in context.checked:
        report = Report(operator, diagnostics)
        check_kind(report, context)
        before = len(diagnostics)
        names.check(operator, report)
        if len(diagnostics) == before:  # else a name that is misspelt seems not to be read
            check_arguments_read(report)
            check_element_types(report, context)
            check_integers(report)
        _check_derivative(report)
        _check_lets(report)
        check_forward(report)
        _check_doc(report, documented, context.documented)
        check_example(report)
        _check_test(report)
    for partial in context.partial:
        _check_partial(partial, names, documented, context, diagnostics)
    check_graph(context, diagnostics)
    check_hidden(context, diagnostics)
    return diagnostics.sorted()


def _check_partial(
    partial: Partial,
    names: NameCheck,
    documented: Iterable[str],
    context: Context,
    diagnostics: Diagnostics,
) -> None:
    """What can be told of an entry in spite of its flawed keys."""
    report = Report(partial.operator, diagnostics)
    names.check(partial.operator, report, partial.flawed)
    if "doc" not in partial.flawed:
        _check_doc(report, documented, context.documented)
        check_example(report)
    if not partial.flawed & {"test", "errors"}:
        _check_test(report)


def _check_derivative(report: Report) -> None:
    """Every float tensor has a gradient formula, or is said to have none."""
    operator, derivative = report.operator, report.operator.derivative
    if operator.kind is Kind.COMPOSITE:
        if derivative is not None and not derivative.none:
            hint = "write `derivative: none` or leave it out"
            message = "the derivative of a composite follows from its body"
            report.error(message, "derivative", key=True, hint=hint)
        return
    if derivative is not None and derivative.none:
        return
    if not differentiable_results(operator.signature, operator.dtypes):
        return
    _check_gradient_names(report)
    _check_is_needed(report)
    for name in differentiable_arguments(operator.signature, operator.dtypes):
        argument = operator.argument(name)
        given = derivative is not None and name in derivative.formulas.keys() | derivative.excluded
        if not given:
            advice = f"add `{name}: \"formula\"`, or `{name}: none`, to 'derivative'"
            report.at(argument.span, f"the tensor '{name}' has no derivative", advice)


def _check_is_needed(report: Report) -> None:
    """A formula that follows from the expression is not written a second time."""
    operator, derivative = report.operator, report.operator.derivative
    if operator.kind is not Kind.POINTWISE or not operator.signature.results or derivative is None:
        return
    if not has_expressions(operator):
        return  # an expression is missing, which is told of the kind
    for name in derivative.formulas.keys() - derivative.auto:
        try:
            automatic = automatic_formula(operator, name)
        except DeclarationError:  # a function in it has no derivative
            continue
        hint = "leave it out"
        if simplify(automatic) == simplify(derivative.formulas[name]):
            message = f"the gradient of '{name}' follows from 'expr'"
            report.error(message, "derivative", name, key=True, hint=hint)
        elif _is_its_function(operator):
            message = f"the gradient of '{name}' follows from its declaration in functions/"
            report.error(message, "derivative", name, key=True, hint=f"{hint}, or better it there")


def _is_its_function(operator: Operator) -> bool:
    """Whether the operator is the function of its name, of its arguments and nothing else."""
    match list(operator.expressions.values()):
        case [nodes.Call(function=function, arguments=arguments)]:
            return function == operator.name and all(isinstance(a, nodes.Name) for a in arguments)
    return False


def _check_gradient_names(report: Report) -> None:
    """An argument called like a gradient, or what is written, would make formulas ambiguous."""
    operator = report.operator
    if operator.derivative is None:
        return
    gradients = gradient_names(operator.signature, operator.dtypes).values()
    writes = written_argument(operator.signature) is not None
    for argument in operator.signature.arguments:
        if argument.name in gradients:
            message = f"the argument '{argument.name}' is called like the gradient"
            report.at(argument.span, message, f"call it '{argument.name}_output'")
        elif writes and argument.name == WRITTEN:
            message = f"the argument '{WRITTEN}' is called like what derivatives read of the result"
            report.at(argument.span, message, "give it another name")


def _check_lets(report: Report) -> None:
    """A let that is called like an argument would change what the formulas read."""
    operator = report.operator
    taken = {a.name for a in operator.signature.arguments}
    taken |= {r.name for r in operator.signature.results}
    for key in ("derivative", "body", "forward"):
        node = operator.entry.get(key) if operator.entry is not None else None
        let = node.get("let") if isinstance(node, Mapping) else None
        for name, _ in let.entries if isinstance(let, Mapping) else ():
            if name.value in taken:
                message = f"the let '{name.value}' hides an argument or a result"
                report.at(name.span, message)
    for names, value in operator.shape.lets if operator.shape is not None else ():
        for hidden in sorted(taken & set(names)):
            message = f"the let '{hidden}' hides an argument or a result"
            report.at(value.span or report.place("shape", "let"), message)


def _check_doc(report: Report, documented: Iterable[str], required: bool) -> None:
    operator, doc = report.operator, report.operator.doc
    documented_as = _misspelt(report)
    if required and not operator.internal:
        if not doc.summary:
            report.error("has no 'summary'", aside=True)
        for argument in operator.signature.given:
            is_silent = argument.type.base is Base.GENERATOR or argument.name in documented_as
            if not argument.doc and not is_silent:
                advice = "describe it in 'args', or in declarations/common.yaml"
                message = f"the argument '{argument.name}' is undocumented"
                report.at(argument.span, message, advice, aside=True)
    _check_known(report, [a.name for a in operator.signature.given], "an argument", "args")
    visible = [r.name for r in operator.signature.visible_results]
    _check_known(report, visible, "a result", "returns")
    for index, name in enumerate(doc.see_also):
        if name not in documented:
            hint = did_you_mean(name, documented)
            message = f"see: there is no '{name}'"
            report.error(message, "doc", "see", str(index), hint=hint, aside=True)


def _misspelt(report: Report) -> set[str]:
    """Arguments whose names are misspelt in doc.args, which is told there."""
    operator = report.operator
    names = [a.name for a in operator.signature.given]
    given = operator.doc.arguments
    node = operator.entry.get("doc") if operator.entry is not None else None
    node = node.get("args") if isinstance(node, Mapping) else None
    written = [k.value for k, _ in node.entries] if isinstance(node, Mapping) else list(given)
    near = (difflib.get_close_matches(w, names, n=1) for w in written if w not in names)
    return {name for found in near for name in found}


def _check_known(report: Report, known: list[str], what: str, key: str) -> None:
    """Every key of doc.KEY is one of `known`."""
    doc = report.operator.entry.get("doc") if report.operator.entry is not None else None
    node = doc.get(key) if isinstance(doc, Mapping) else None
    for name, _ in node.entries if isinstance(node, Mapping) else ():
        if name.value not in known:
            message = f"'{name.value}' is documented, but is not {what}"
            report.at(name.span, message, did_you_mean(name.value, known), aside=True)


def _check_test(report: Report) -> None:
    operator, test = report.operator, report.operator.test
    for index, sample in enumerate(test.samples):
        _check_sample(report, sample, "samples", str(index))
    tensors = [a.name for a in operator.tensor_arguments]
    for name in test.extremes:
        if name not in tensors:
            hint = did_you_mean(name, tensors)
            message = f"extremes: '{name}' is not a tensor argument"
            report.error(message, "test", "extremes", name, key=True, hint=hint)
    for name, sample in test.rejects.items():
        _check_sample(report, sample, "rejects", name)
    for constraint in operator.constraints:
        if constraint.name not in test.rejects and not operator.internal:
            message = f"no test violates the error '{constraint.name}'"
            hint = "give it `rejects`: the arguments of a call that it refuses"
            report.at(constraint.span, message, hint, aside=True)


def _check_sample(report: Report, sample: dict[str, str], *path: str) -> None:
    """A sample gives what is required, and nothing else."""
    arguments = report.operator.signature.arguments
    names = [a.name for a in arguments]
    for name in sample:
        if name not in names:
            hint = did_you_mean(name, names)
            report.error(f"there is no argument '{name}'", "test", *path, name, key=True, hint=hint)
    for argument in arguments:
        is_optional = argument.default is not None
        if argument.name not in sample and not is_optional:
            report.error(f"the sample lacks '{argument.name}'", "test", *path)
