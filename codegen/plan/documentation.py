"""What is written about an operator: one description that docstrings and reference pages print."""

from __future__ import annotations

import itertools
import textwrap
from collections import abc
from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.to_latex import symbol, to_latex
from flambeau.codegen.model.entries import (
    Autocast,
    BatchRule,
    Constraint,
    Kind,
    Layout,
    Operator,
    Policy,
)
from flambeau.codegen.model.facts import gradient_names
from flambeau.codegen.plan.argument_errors import argument_errors
from flambeau.codegen.plan.cpp_types import location
from flambeau.codegen.plan.python_signature import (
    Form,
    Parameter,
    PythonSignature,
    forms,
    python_signature,
    qualified_names,
)
from flambeau.codegen.text.excerpt import source_line
from flambeau.codegen.text.tree import Mapping

WIDTH = 88
_SYMBOLS = {"self": "x", "input": "x", "other": "y", "grad": "g"}
_OTHER_PARAMETERS = {
    "out": "a tensor that receives the result and is returned; it is resized where it is empty",
    "requires_grad": "whether operations on the result are recorded for differentiation",
    "layout": "None or flambeau.strided: every tensor is strided",
    "pin_memory": "None or False",
}
_SEVERAL_OUT = "a tensor for each result, which is returned; it is resized where it is empty"


@dataclass(frozen=True, slots=True)
class Described:
    """A name and what it stands for."""

    name: str
    type: str
    text: str


@dataclass(frozen=True, slots=True)
class OverloadDoc:
    """One overload, described."""

    operator: Operator
    signatures: tuple[str, ...]  # in every form
    summary: str
    notes: str | None
    math: str | None  # LaTeX
    gradients: tuple[str, ...]  # LaTeX, one equation per argument
    arguments: tuple[Described, ...]
    returns: tuple[Described, ...]
    errors: tuple[Described, ...]
    example: str | None
    see_also: tuple[str, ...]
    location: str


def describe(operator: Operator) -> OverloadDoc:
    """Everything that is known about an overload, in words."""
    signatures = [python_signature(operator, form) for form in forms(operator)]
    return OverloadDoc(
        operator=operator,
        signatures=tuple(
            _shown(python_signature(operator, form, name))
            for form in forms(operator)
            for name in qualified_names(operator, form)
        ),
        summary=_line(operator.doc.summary),
        notes=_notes(operator),
        math=operator.doc.math or formula_latex(operator),
        gradients=gradient_latex(operator),
        arguments=_arguments(signatures),
        returns=_returns(operator, signatures),
        errors=_errors(operator),
        example=example_text(operator),
        see_also=operator.doc.see_also,
        location=location(operator),
    )


_TAKEN = {
    Policy.LOWER: "in its lower dtype",
    Policy.FLOAT32: "in float32",
    Policy.WIDEST: "in the widest dtype among them",
}


_LAYOUTS = {Layout.SPARSE_COO: "a sparse layout", Layout.ANY: "any layout"}


def _notes(operator: Operator) -> str | None:
    """The entry's own, and what autocast does."""
    notes = [] if operator.doc.notes is None else [_line(operator.doc.notes)]
    policies = operator.autocast or Autocast()
    words = [
        f"{_TAKEN[policy]}{where}"
        for policy, where in _named_policies(policies)
        if policy is not Policy.NONE
    ]
    if words:
        notes.append(f"Under autocast, floating-point arguments are taken {', '.join(words)}.")
    notes += [
        f"`{name}` is a tensor of {_LAYOUTS[layout]}." for name, layout in operator.layouts.items()
    ]
    if operator.batch_rule is BatchRule.LOOP and operator.tensor_arguments:
        notes.append("`vmap` computes it slice by slice.")
    return " ".join(notes) or None


def _named_policies(policies: Autocast) -> Sequence[tuple[Policy, str]]:
    if policies.cpu is policies.others:
        return [(policies.cpu, "")]
    return [(policies.cpu, " on the CPU"), (policies.others, " on other devices")]


def docstring(overloads: Sequence[tuple[Operator, Form]], name: str) -> str:
    """The docstring of one Python name; what `inspect` reads comes first, where there is one
    signature beside those of other layouts.
    """
    text = help_text(overloads, name)
    strided = [pair for pair in overloads if not pair[0].is_for_layouts] or overloads[:1]
    signatures = {python_signature(operator, form, name).untyped() for operator, form in strided}
    return f"{signatures.pop()}\n--\n\n{text}" if len(signatures) == 1 else text


def help_text(overloads: Sequence[tuple[Operator, Form]], name: str) -> str:
    """What help() shows of one Python name, and editors from its stub: every overload."""
    return "\n\n".join(
        _overload_text(operator, form, python_signature(operator, form, name))
        for operator, form in overloads
    )


def _overload_text(operator: Operator, form: Form, signature: PythonSignature) -> str:
    parts = [_wrapped_signature(_shown(signature))]
    summary = _line(operator.doc.summary)
    if form.is_inplace:
        summary = f"In place: the result of `{operator.name}` is written into the tensor itself."
    if form is Form.LIST:
        summary += " For each of the tensors of the lists."
    parts.append(_paragraph(summary))
    if operator.doc.notes and not form.is_inplace:
        parts.append(_paragraph(_line(operator.doc.notes)))
    arguments = _arguments([signature])
    if arguments:
        parts.append(_section("Args", [f"{a.name}: {a.text}" for a in arguments if a.text]))
    described = [r for r in _returns(operator, [signature]) if r.text and not form.is_inplace]
    if described:
        parts.append(_section("Returns", [f"{r.name}: {r.text}" for r in described]))
    errors = _errors(operator)
    if errors:
        parts.append(_section("Raises", [f"{e.name}: {e.text}" for e in errors]))
    if operator.doc.example and not form.is_inplace:
        parts.append("Example:\n" + textwrap.indent(example_text(operator) or "", "    "))
    return "\n\n".join(part for part in parts if part)


def example_text(operator: Operator) -> str | None:
    """The example as it looks in a terminal."""
    example = operator.doc.example
    return None if example is None else example.rstrip().replace("<BLANKLINE>", "")


def _shown(signature: PythonSignature) -> str:
    return f"{signature.text(receiver='')} -> {signature.returns}"


def _wrapped_signature(text: str) -> str:
    if len(text) <= WIDTH:
        return text
    return "\n".join(textwrap.wrap(text, WIDTH, subsequent_indent="    ", break_on_hyphens=False))


def _paragraph(text: str) -> str:
    return "\n".join(textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False))


def _section(title: str, entries: Sequence[str]) -> str:
    lines = [f"{title}:"] if entries else []
    for entry in entries:
        lines += textwrap.wrap(
            entry,
            WIDTH,
            initial_indent="    ",
            subsequent_indent="        ",
            break_on_hyphens=False,
            break_long_words=False,
        )
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def _arguments(signatures: Sequence[PythonSignature]) -> tuple[Described, ...]:
    """Every parameter of some signatures once, in order."""
    found: dict[str, Described] = {}
    for signature in signatures:
        for parameter in signature.parameters:
            found.setdefault(parameter.name, _describe_parameter(parameter))
    return tuple(found.values())


def _describe_parameter(parameter: Parameter) -> Described:
    argument = parameter.argument
    if argument is not None:
        text = argument.doc
    elif parameter.annotation.sequence:
        text = _SEVERAL_OUT
    else:
        text = _OTHER_PARAMETERS[parameter.name]
    return Described(parameter.name, parameter.annotation.text(), _line(text))


def _returns(operator: Operator, signatures: Sequence[PythonSignature]) -> tuple[Described, ...]:
    results = operator.signature.visible_results
    if not results:
        returns = signatures[0].returns if signatures else "None"
        text = "the tensor that was written" if returns != "None" else ""
        return (Described("result", returns, text),) if text else ()
    return tuple(
        Described(
            result.name,
            ("tuple[Tensor, ...]" if result.is_list else "Tensor")
            + (f" ({result.dtype})" if result.dtype else ""),
            _line(operator.doc.returns.get(result.name, "")),
        )
        for result in results
    )


def _errors(operator: Operator) -> tuple[Described, ...]:
    """What the operator refuses: by its arguments' types, then by the errors that it declares."""
    by_types = [Described(e.exception, "", e.text) for e in argument_errors(operator)]
    declared = [Described(c.exception, "", message_text(c, "`{}`")) for c in operator.constraints]
    return (*by_types, *declared)


def message_text(constraint: Constraint, value: str = "{{{}}}") -> str:
    """What an error says, its values written as the formulas that they are: in braces, or as
    another format has it.
    """
    return "".join(
        part if isinstance(part, str) else value.format(part)
        for part in constraint.parts or (constraint.message,)
    )


def entry_text(operator: Operator) -> str:
    """The entry as it stands in its file."""
    first = operator.span.line
    lines = [source_line(operator.span.file, first) or ""]
    for number in itertools.count(first + 1):
        line = source_line(operator.span.file, number)
        if line is None or line[:1] in ("-", "#"):
            break
        lines.append(line)
    return "\n".join(lines).rstrip()


def inherited_lines(operator: Operator) -> tuple[str, ...]:
    """The defaults that the head of the family gives the entry."""
    found: list[str] = []
    pending = [operator.entry]
    while pending:
        node = pending.pop()
        for key, value in node.entries if node is not None else ():
            if value.span.used == operator.span and key.span.used is None:
                found.append((source_line(key.span.file, key.span.line) or "").strip())
            elif key.value == "test" and isinstance(value, Mapping):
                pending.append(value)
    return tuple(found)


def is_curve(operator: Operator) -> bool:
    """Whether the operator is a real function of one real variable, which can be drawn."""
    rule = operator.dtypes
    tensors = operator.tensor_arguments
    visible = operator.signature.visible_results
    return (
        operator.kind is Kind.POINTWISE
        and operator.random is None
        and len(tensors) == len(visible) == 1
        and not tensors[0].type.mutable
        and "float64" in rule.accepts[tensors[0].name]
        and rule.results.get(visible[0].name, "common") in ("common", "real")
        and visible[0].dtype is None
        and nodes.reads(operator.expressions[visible[0].name], {tensors[0].name})
        and not isinstance(operator.expressions[visible[0].name], nodes.Name)
    )


# LaTeX --------------------------------------------------------------------------------------------


def formula_latex(operator: Operator) -> str | None:
    """The formulas of a pointwise operator: elementwise equations."""
    if operator.kind is not Kind.POINTWISE or not operator.expressions:
        return None
    hidden = {r.name for r in operator.signature.results if r.hidden}
    lines = [
        f"{_target(name)} = {to_latex(formula, _SYMBOLS)}"
        for name, formula in operator.expressions.items()
        if name not in hidden or nodes.reads(_others(operator, name), {name})
    ]
    return _aligned(lines)


def _others(operator: Operator, name: str) -> Expression:
    """All formulas but one, as one tree."""
    others = tuple(f for n, f in operator.expressions.items() if n != name)
    return nodes.Sequence(others, True)


def _target(name: str) -> str:
    return _SYMBOLS.get(name) or symbol(name)


def gradient_latex(operator: Operator) -> tuple[str, ...]:
    r"""`\frac{\partial L}{\partial x} = ...`, one per argument; L is any scalar made of results."""
    derivative = operator.derivative
    return () if derivative is None else equations_of_gradients(operator, derivative.formulas)


def equations_of_gradients(
    operator: Operator, formulas: abc.Mapping[str, Expression]
) -> tuple[str, ...]:
    """The same of other formulas for the operator's gradients."""
    symbols = _gradient_symbols(operator)
    return tuple(
        rf"\frac{{\partial L}}{{\partial {_target(name)}}} = {to_latex(formula, symbols)}"
        for name, formula in formulas.items()
    )


def equations_of_parts(operator: Operator, parts: abc.Mapping[str, Expression]) -> tuple[str, ...]:
    """`u = ...`, one per name that these formulas use."""
    symbols = _gradient_symbols(operator)
    return tuple(
        f"{symbol(name)} = {to_latex(formula, symbols)}" for name, formula in parts.items()
    )


def _gradient_symbols(operator: Operator) -> dict[str, str]:
    names = gradient_names(operator.signature, operator.dtypes)
    symbols = dict(_SYMBOLS)
    if len(names) > 1:
        symbols |= {gradient: f"g_{{{symbol(result)}}}" for result, gradient in names.items()}
    if any(a.name == "grad" for a in operator.signature.arguments):
        symbols["grad"] = "g"
    return symbols


def _aligned(lines: Sequence[str]) -> str | None:
    if len(lines) < 2:
        return lines[0] if lines else None
    rows = " \\\\\n".join(line.replace(" = ", " &= ", 1) for line in lines)
    return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"


def called(formula: Expression) -> frozenset[str]:
    """The names that a formula calls."""
    found = {formula.function} if isinstance(formula, nodes.Call) else set()
    for child in formula.children:
        found |= called(child)
    return frozenset(found)
