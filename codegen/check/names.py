"""Formulas mention only what exists: arguments, results, gradients, functions, operators."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from flambeau.codegen.check.calls import Overloads, misfit
from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.formula.functions import Function, FunctionTable, load_functions
from flambeau.codegen.formula.nodes import (
    CONSTANTS,
    Attribute,
    Call,
    Comprehension,
    Expression,
    Name,
)
from flambeau.codegen.formula.parse import parse_expression
from flambeau.codegen.model.entries import Kind, Operator
from flambeau.codegen.model.facts import (
    LIST_METADATA,
    METADATA,
    WRITTEN,
    gradient_names,
    written_argument,
)
from flambeau.codegen.read.dtype_rules import RESULT_WORDS
from flambeau.codegen.read.formula_reader import out_of_order
from flambeau.codegen.tensor.forward import tangent_name
from flambeau.codegen.text.source import Text, did_you_mean
from flambeau.codegen.text.tree import Mapping


@dataclass(frozen=True, slots=True)
class Scope:
    """What a formula may mention. `what` names the kind of formula in messages."""

    what: str
    names: frozenset[str]
    functions: frozenset[str]
    operators: bool = False
    # Lets from this one on, which the formula cannot mention yet, each with its formula.
    later: tuple[tuple[str, Expression], ...] = ()

    def with_names(self, names: Iterable[str]) -> Scope:
        """The scope with more names."""
        return replace(self, names=self.names | set(names))


class NameCheck:
    """Checks the names of one operator after the other."""

    def __init__(self, context: Context, overloads: Overloads) -> None:
        self._overloads = overloads
        self._incomplete = context.incomplete
        self._functions: FunctionTable = load_functions()
        self._dtypes = frozenset(d.name for d in context.declarations.dtypes)

    def check(self, operator: Operator, report: Report, flawed: Collection[str] = ()) -> None:
        """Report unknown names in every formula of an operator that was read."""
        for formula, scope in self._formulas(operator, flawed):
            self._formula(formula, scope, report)

    def _formulas(
        self, operator: Operator, flawed: Collection[str]
    ) -> Iterator[tuple[Expression, Scope]]:
        arguments = frozenset(a.name for a in operator.signature.arguments)
        everything = arguments | {r.name for r in operator.signature.results}
        element = Scope("an element formula", everything, frozenset(self._functions))
        shape = Scope(
            "a shape formula", everything | self._dtypes, frozenset(self._functions.shape)
        )
        tensor = replace(shape, what="a tensor formula", names=arguments | self._dtypes)
        tensor = replace(tensor, operators=True)
        yield from ((e, element) for e in operator.expressions.values())
        yield from self._reduce(operator, element)
        if "shape" not in flawed:  # else its lets are unknown
            yield from _with_lets(operator, shape)
        if operator.flops is not None:
            yield operator.flops, replace(shape, what="'flops'")
        yield from _body(operator, tensor)
        batch = replace(tensor.with_names({"n"}), what="a formula of 'batch'")
        for formula in operator.batching.formulas if operator.batching else ():
            yield formula, batch
        yield from self._gradients(operator, element, tensor.with_names(everything))
        for condition, value in operator.skip_when:
            yield condition, replace(shape, what="a condition", functions=self._any_function)
            yield value, tensor
        for condition in operator.grad_fn.conditions if operator.grad_fn else ():
            of_arguments = replace(shape, names=arguments | self._dtypes)
            yield condition, replace(of_arguments, what="a condition", functions=self._any_function)
        if "dtypes" not in flawed:
            yield from self._dtype_formulas(operator, shape)

    @property
    def _any_function(self) -> frozenset[str]:
        return frozenset(self._functions) | frozenset(self._functions.shape)

    def _reduce(self, operator: Operator, scope: Scope) -> Iterator[tuple[Expression, Scope]]:
        """Each part of a fold sees its own variables instead of the tensors."""
        if operator.reduce is None:
            return
        numbers = {a.name for a in operator.signature.arguments} - {
            a.name for a in operator.tensor_arguments
        }
        fold = operator.reduce
        parts = (
            ("init", fold.init, set[str]()),
            ("step", fold.step, {"acc", "x"}),
            ("combine", fold.combine, {"a", "b"}),
            ("finish", fold.finish, {"acc", "n"}),
        )
        for part, formula, names in parts:
            yield formula, replace(scope, what=f"'{part}'", names=frozenset(numbers | names))

    def _gradients(
        self, operator: Operator, element: Scope, tensor: Scope
    ) -> Iterator[tuple[Expression, Scope]]:
        scope = element if operator.kind is Kind.POINTWISE else tensor
        names = set(gradient_names(operator.signature, operator.dtypes).values())
        if written_argument(operator.signature) is not None:
            names.add(WRITTEN)
        derivative = operator.derivative
        for name, formula in derivative.formulas.items() if derivative else ():
            if derivative is not None and name not in derivative.auto:
                what = f"{scope.what} of a derivative"
                yield formula, replace(scope.with_names(names), what=what)
        tangents = {tangent_name(a.name) for a in operator.tensor_arguments}
        for formula in operator.forward.values():
            yield formula, tensor.with_names(tangents)

    def _dtype_formulas(
        self, operator: Operator, scope: Scope
    ) -> Iterator[tuple[Expression, Scope]]:
        rules = operator.entry.get("dtypes") if operator.entry is not None else None
        results = {r.name for r in operator.signature.results}
        for key, value in rules.entries if isinstance(rules, Mapping) else ():
            is_result = key.value.removeprefix("result ").strip() in results
            if is_result and isinstance(value, Text) and value.value not in RESULT_WORDS:
                yield parse_expression(value), replace(scope, what="a dtype formula")

    def _formula(self, node: Expression, scope: Scope, report: Report) -> None:
        if isinstance(node, Name) and node.identifier not in scope.names | CONSTANTS.keys():
            report.at(node.span or report.place(), *_unknown_name(node.identifier, scope))
        elif isinstance(node, Attribute):
            self._attribute(node, report)
        elif isinstance(node, Call):
            self._call(node, scope, report)
        inner = scope.with_names(node.names) if isinstance(node, Comprehension) else scope
        for child in node.children:
            is_outside = isinstance(node, Comprehension) and child is node.iterable
            self._formula(child, scope if is_outside else inner, report)

    def _attribute(self, node: Attribute, report: Report) -> None:
        span = node.span or report.place()
        lists = {a.name for a in report.operator.tensor_arguments if a.type.is_list}
        lists |= {r.name for r in report.operator.signature.results if r.is_list}
        is_list = isinstance(node.value, Name) and node.value.identifier in lists
        known = LIST_METADATA if is_list else METADATA
        if node.name not in known:
            hint = did_you_mean(node.name, known) or f"there are {', '.join(known)}"
            report.at(span, f"unknown metadata '.{node.name}'", hint)

    def _call(self, call: Call, scope: Scope, report: Report) -> None:
        span = call.span or report.place()
        name = call.function
        if name in scope.functions:
            self._function(call, scope, report)
        elif scope.operators and name in self._overloads.names:
            if name not in self._incomplete and self._overloads.resolve(call) is None:
                reasons = [f"{o.full_name} {misfit(call, o)}" for o in self._overloads.of(name)]
                report.at(span, f"no overload of '{name}' takes this call", "; ".join(reasons))
        elif not (scope.operators and name in self._incomplete):
            message, hint = self._unknown_call(name, scope)
            report.at(replace(span, length=len(name)), message, hint)

    def _function(self, call: Call, scope: Scope, report: Report) -> None:
        span = call.span or report.place()
        if call.function in load_functions().random and report.operator.random is None:
            message = f"'{call.function}()' needs `random: philox`"
            report.at(span, message)
        if scope.operators and call.function in self._overloads.names:
            return  # the operator of that name may be meant
        tables = (self._functions, self._functions.shape)
        functions = [t[call.function] for t in tables if call.function in t]
        if not any(_takes(f, call) for f in functions):
            expected = " or ".join(map(_spelled, functions))
            report.at(span, f"'{call.function}' does not take these arguments", expected)

    def _unknown_call(self, name: str, scope: Scope) -> tuple[str, str | None]:
        known = set(scope.functions) | (self._overloads.names if scope.operators else set())
        hint = did_you_mean(name, known)
        if name in self._overloads.names:
            return f"'{name}' is an operator, which {scope.what} cannot call", hint
        if name in self._any_function:
            return f"'{name}' cannot be called in {scope.what}", hint
        kinds = "function or operator" if scope.operators else "function"
        return f"unknown {kinds} '{name}' in {scope.what}", hint


def _unknown_name(name: str, scope: Scope) -> tuple[str, str | None]:
    if any(name == let for let, _ in scope.later):
        message = f"the let '{name}' is not known yet in {scope.what}"
        return message, out_of_order(name, scope.later)
    known = [*scope.names, *CONSTANTS]
    return f"unknown name '{name}' in {scope.what}", did_you_mean(name, known)


def _takes(function: Function, call: Call) -> bool:
    """Whether the number of arguments fits; functions take them by position."""
    needed = sum(not p.optional for p in function.parameters)
    return not call.keywords and needed <= len(call.arguments) <= function.arity


def _spelled(function: Function) -> str:
    names = ", ".join(p.name for p in function.parameters)
    return f"the function is {function.name}({names})"


def _with_lets(operator: Operator, scope: Scope) -> Iterator[tuple[Expression, Scope]]:
    """Shapes and constraints; both see the lets of the shape, each let those before it."""
    rule = operator.shape
    lets = [(name, v) for names, v in rule.lets for name in names] if rule is not None else []
    for names, value in rule.lets if rule is not None else ():
        yield value, replace(scope, later=tuple(lets))
        scope = scope.with_names(names)
        lets = lets[len(names) :]
    if rule is not None:
        outputs = (*rule.shapes.values(), rule.strides, rule.offset)
        yield from ((formula, scope) for formula in outputs if formula is not None)
    scope = replace(scope, what="a constraint")
    for constraint in operator.constraints:
        yield constraint.require, scope
        yield from ((p, scope) for p in constraint.parts if not isinstance(p, str))


def _body(operator: Operator, scope: Scope) -> Iterator[tuple[Expression, Scope]]:
    for index, (name, value) in enumerate(operator.body_lets):
        yield value, replace(scope, later=operator.body_lets[index:])
        scope = scope.with_names((name,))
    if operator.body is not None:
        yield operator.body, scope
