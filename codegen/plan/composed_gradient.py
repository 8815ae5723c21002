"""The gradient that results for a composite, by the chain rule through the operators of its body.

It is written for pages alone: what runs goes operator by operator. Arguments that choose between
branches have their defaults. Where no short formula comes out, there is none.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from flambeau.codegen.formula import nodes, simplify
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.model.entries import Base, Declarations, Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.text.source import DeclarationError

_LARGEST = 20  # nodes of a formula that is still read
_LARGEST_BODY = 60
_DEEPEST = 6  # composites inside of each other


@dataclass(frozen=True, slots=True)
class ComposedGradient:
    """Formulas by argument, in `grad`, the arguments and the result."""

    formulas: Mapping[str, Expression]
    assumed: Mapping[str, object]  # the defaults that chose between branches, by argument


class _Unwritten(Exception):
    """There is no short formula."""


class ComposedGradients:
    """Writes gradients of composites."""

    def __init__(self, declarations: Declarations) -> None:
        self._index = OperatorIndex(declarations.operators)

    def of(self, operator: Operator) -> ComposedGradient | None:
        """None where no short formula comes out."""
        results = operator.signature.visible_results
        if operator.kind is not Kind.COMPOSITE or operator.body is None or len(results) != 1:
            return None
        walk = _Walk(self._index, _defaults(operator))
        arguments = frozenset(a.name for a in operator.tensor_arguments if not a.type.mutable)
        try:
            body = walk.chosen(_body(operator))
            walk.named[body] = nodes.name(results[0].name)
            walk.back(body, nodes.name("grad"), arguments)
            found = {name: walk.written(sum_) for name, sum_ in walk.sums.items()}
        except (_Unwritten, DeclarationError):
            return None
        if not found or max(formula.size for formula in found.values()) > _LARGEST:
            return None
        return ComposedGradient(found, walk.assumed)


def _body(operator: Operator) -> Expression:
    """Without lets; those that nothing reads write in place, which no formula says."""
    assert operator.body is not None
    values: dict[str, Expression] = {}
    formulas = [value for _, value in operator.body_lets] + [operator.body]
    for name, value in operator.body_lets:
        if not any(nodes.reads(formula, {name}) for formula in formulas):
            raise _Unwritten
        values[name] = nodes.substitute(value, values)
    return nodes.substitute(operator.body, values)


def _defaults(operator: Operator) -> dict[str, object]:
    """The values of arguments that are left out, where they are literals."""
    found: dict[str, object] = {}
    for argument in operator.signature.arguments:
        if argument.default is None and argument.type.optional:
            found[argument.name] = None
        elif argument.default is not None:
            try:
                found[argument.name] = ast.literal_eval(argument.default)
            except ValueError:
                continue
    return found


class _Walk:
    """One operator: what reaches its arguments from the result."""

    def __init__(self, index: OperatorIndex, defaults: Mapping[str, object]) -> None:
        self._index = index
        self._defaults = defaults
        self.sums: dict[str, Expression] = {}
        self.named: dict[Expression, Expression] = {}  # the result, so that it is not written out
        self.assumed: dict[str, object] = {}

    def chosen(self, expression: Expression, depth: int = 0) -> Expression:
        """Without branches, and with the bodies of composites in place of their calls."""
        if depth > _DEEPEST or expression.size > _LARGEST_BODY:
            raise _Unwritten
        if isinstance(expression, nodes.Conditional):
            try:
                holds = self._holds(expression.condition)
            except _Unwritten:
                branches = (expression.then, expression.otherwise)
                then, otherwise = (self.chosen(branch, depth) for branch in branches)
                return nodes.Conditional(expression.condition, then, otherwise)
            return self.chosen(expression.then if holds else expression.otherwise, depth)
        children = tuple(self.chosen(child, depth) for child in expression.children)
        expression = expression.with_children(children)
        if not isinstance(expression, nodes.Call) or expression.function not in self._index:
            return expression
        operator = self._meant(expression)
        if _converts(operator):
            return _bound(expression, operator)[operator.tensor_arguments[0].name]
        if operator.kind is not Kind.COMPOSITE or operator.body is None:
            return expression
        if operator.derivative is not None and operator.derivative.formulas:
            return expression
        return self.chosen(_inside(expression, operator), depth + 1)

    def back(self, expression: Expression, above: Expression, arguments: frozenset[str]) -> None:
        """Adds what reaches the arguments below an expression of which `above` is the gradient."""
        if not nodes.reads(expression, arguments):
            return
        if above.size > _LARGEST_BODY:
            raise _Unwritten
        if isinstance(expression, nodes.Name):
            name = expression.identifier
            self.sums[name] = simplify.add(self.sums[name], above) if name in self.sums else above
            return
        if isinstance(expression, nodes.Unary) and expression.operator in "+-":
            below = above if expression.operator == "+" else simplify.negate(above)
            return self.back(expression.operand, below, arguments)
        if isinstance(expression, nodes.Conditional):
            return self._back_in_branches(expression, above, arguments)
        call = self._as_call(expression)
        operator = self._meant(call)
        derivative = operator.derivative
        results = operator.signature.results
        if derivative is None or len(results) > 1:
            raise _Unwritten
        values = _bound(call, operator)
        for name, formula in derivative.formulas.items():
            known = values | {"grad": above}
            known |= {result.name: self.named.get(expression, expression) for result in results}
            if name in values:
                self.back(values[name], nodes.substitute(formula, known), arguments)
        if derivative.none and nodes.reads(expression, arguments):
            raise _Unwritten

    def _back_in_branches(
        self, choice: nodes.Conditional, above: Expression, arguments: frozenset[str]
    ) -> None:
        """Where nothing says which branch it is: what reaches the arguments is chosen, too."""
        before, found = self.sums, []
        for branch in (choice.then, choice.otherwise):
            self.sums = {}
            self.back(branch, above, arguments)
            found.append(self.sums)
        self.sums = before
        then, otherwise = found
        for name in dict.fromkeys((*then, *otherwise)):
            both = [sums.get(name, nodes.number(0)) for sums in found]
            sum_ = both[0] if both[0] == both[1] else nodes.Conditional(choice.condition, *both)
            before[name] = simplify.add(before[name], sum_) if name in before else sum_

    def written(self, expression: Expression) -> Expression:
        """With the bodies of operators that nobody else calls in place of their calls."""

        def visit(node: Expression) -> Expression:
            if not isinstance(node, nodes.Call) or node.function not in self._index:
                return node
            operator = self._meant(node)
            if not operator.internal or operator.body is None:
                return node
            try:
                return self.written(self.chosen(_inside(node, operator)))
            except _Unwritten:
                return node

        return simplify.simplify(nodes.transform(expression, visit))

    def _as_call(self, expression: Expression) -> nodes.Call:
        """A call of an operator, perhaps by its token."""
        if isinstance(expression, nodes.Call) and expression.function in self._index:
            return expression
        if isinstance(expression, nodes.Binary):
            name = self._index.named(expression.operator)
            if name is not None:
                return nodes.Call(name, (expression.left, expression.right))
        raise _Unwritten

    def _meant(self, call: nodes.Call) -> Operator:
        """The one overload of this name that takes as many arguments, tensors where tensors are."""
        fitting = [o for o in self._index.overloads(call.function) if _fits(call, o)]
        if not fitting:
            raise _Unwritten
        return min(fitting, key=lambda operator: _numbers_for_tensors(call, operator))

    def _holds(self, condition: Expression) -> bool:
        """What defaults say of a condition."""
        match condition:
            case nodes.Name() | nodes.Number():
                value = self._value(condition)
                if isinstance(value, bool):
                    return value
            case nodes.Unary(operator="not", operand=operand):
                return not self._holds(operand)
            case nodes.Boolean(operator=operator, operands=operands):
                holds = [self._holds(operand) for operand in operands]
                return all(holds) if operator == "and" else any(holds)
            case nodes.Compare(operator="==" | "is"):
                return self._value(condition.left) == self._value(condition.right)
            case nodes.Compare(operator="!=" | "is not"):
                return self._value(condition.left) != self._value(condition.right)
        raise _Unwritten

    def _value(self, expression: Expression) -> object:
        match expression:
            case nodes.Name(identifier=name) if name in self._defaults:
                self.assumed[name] = self._defaults[name]
                return self._defaults[name]
            case nodes.Number(value=value) | nodes.String(value=value):
                return value
            case nodes.NoneLiteral():
                return None
        raise _Unwritten


def _bound(call: nodes.Call, operator: Operator) -> dict[str, Expression]:
    """The values of an operator's arguments in a call."""
    arguments = operator.signature.arguments
    names = [a.name for a in arguments if not a.keyword_only]
    if len(call.arguments) > len(names):
        raise _Unwritten
    bound = dict(zip(names, call.arguments, strict=False))
    for name, value in call.keywords:
        if name in bound or name not in {a.name for a in arguments}:
            raise _Unwritten
        bound[name] = value
    for argument in arguments:
        if argument.name in bound:
            continue
        if argument.default is None and not argument.type.optional:
            raise _Unwritten
        bound[argument.name] = _literal(argument.default)
    return bound


def _fits(call: nodes.Call, operator: Operator) -> bool:
    try:
        _bound(call, operator)
    except _Unwritten:
        return False
    return True


def _numbers_for_tensors(call: nodes.Call, operator: Operator) -> int:
    bound = _bound(call, operator)
    tensors = {a.name for a in operator.tensor_arguments}
    return sum(isinstance(bound[name], nodes.Number) for name in tensors)


def _literal(text: str | None) -> Expression:
    """A default as a tree."""
    if text is None or text == "None":
        return nodes.NoneLiteral()
    try:
        value = ast.literal_eval(text)
    except ValueError as error:
        raise _Unwritten from error
    if isinstance(value, str):
        return nodes.String(value)
    if isinstance(value, int | float):
        return nodes.number(value)
    raise _Unwritten


def _inside(call: nodes.Call, operator: Operator) -> Expression:
    """The body that a call stands for."""
    return nodes.substitute(_body(operator), _bound(call, operator))


def _converts(operator: Operator) -> bool:
    """Whether the result holds the same numbers: what differs is their dtype or where they lie."""
    if len(operator.tensor_arguments) != 1 or operator.derivative is None:
        return False
    tensor = operator.tensor_arguments[0]
    if tensor.type.mutable or tensor.name not in operator.linear_in:
        return False
    others = (a for a in operator.signature.arguments if a is not tensor)
    kept = operator.derivative.formulas.get(tensor.name) == nodes.name("grad")
    return kept or (
        operator.kind is Kind.STRUCTURED
        and tensor.name in operator.derivative.formulas
        and all(a.type.base in (Base.DTYPE, Base.DEVICE) for a in others)
        and len(operator.signature.arguments) > 1
    )
