"""The gradient that results for a composite, by the chain rule through the operators of its body.

It is written for pages alone: what runs goes operator by operator. Arguments that choose between
branches have their defaults, and tensors are of one floating dtype, but for those whose samples are
integers. What makes a formula too long gets a name. Where it stays too long, there is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from operator import is_not

from flambeau.codegen.formula import nodes, simplify
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.shape_rules import DTYPE_FUNCTIONS, FUNCTIONS
from flambeau.codegen.model.entries import Declarations, Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.named_parts import too_long, with_named_parts
from flambeau.codegen.plan.way_back import both, converts, reads_elements, way_back
from flambeau.codegen.text.source import DeclarationError

_LARGEST_BODY = 400  # nodes
_USUAL = "float32"
_DEEPEST = 6  # composites inside of each other


@dataclass(frozen=True, slots=True)
class ComposedGradient:
    """Formulas by argument, in `grad`, the arguments and the result."""

    formulas: Mapping[str, Expression]
    parts: Mapping[
        str, Expression
    ]  # what the formulas call by a name, each made of those behind it
    assumed: Mapping[str, object]  # the defaults that chose between branches, by argument
    only_real: bool  # rather than for complex numbers, too

    def in_full(self) -> dict[str, Expression]:
        """The formulas, with what stands for the names of parts."""
        found = dict(self.formulas)
        while any(nodes.reads(formula, self.parts) for formula in found.values()):
            found = {n: nodes.substitute(f, self.parts) for n, f in found.items()}
        return found


class _Unwritten(Exception):
    """There is no short formula."""


class ComposedGradients:
    """Writes gradients of composites."""

    def __init__(self, declarations: Declarations) -> None:
        self._index = OperatorIndex(declarations.operators)
        functions = load_functions().shape.items()
        self._dtypes = {dtype.name for dtype in declarations.dtypes}
        self._makes_dtype = {name for name, f in functions if f.result == "dtype"}

    def way(self, operator: Operator) -> tuple[str, ...]:
        """The operators that the gradient goes back through, the last one of the body first."""
        usual = way_back(operator, self._index, self._walk(operator).branches)
        # Where the usual branch has no derivatives, the other one is there for them.
        return usual or way_back(operator, self._index, both)

    def _walk(self, operator: Operator) -> _Walk:
        dtypes = (self._makes_dtype, self._dtypes)
        return _Walk(self._index, _defaults(operator), _integers(operator), *dtypes)

    def of(self, operator: Operator) -> ComposedGradient | None:
        """None where no short formula comes out."""
        results = operator.signature.visible_results
        if operator.kind is not Kind.COMPOSITE or operator.body is None or len(results) != 1:
            return None
        if operator.derivative is not None and operator.derivative.none:
            return None
        walk = self._walk(operator)
        arguments = frozenset(a.name for a in operator.tensor_arguments if not a.type.mutable)
        try:
            body = walk.chosen(_body(operator))
            walk.named[body] = nodes.name(results[0].name)
            walk.back(body, nodes.name("grad"), arguments)
            found = {name: walk.written(sum_) for name, sum_ in walk.sums.items()}
        except (_Unwritten, DeclarationError):
            return None
        taken = {a.name for a in operator.signature.arguments} | {results[0].name, "grad"}
        read = (n for f in found.values() for n in nodes.walk(f) if isinstance(n, nodes.Name))
        names = {node.identifier for node in read}
        hidden = {name: f for name, f in walk.hidden.items() if name in names}
        formulas, parts = with_named_parts(found, hidden, taken)
        only_real = walk.only_real or too_long(formulas, parts)
        if only_real:
            formulas, parts = with_named_parts(_real(found), _real(hidden), taken)
        if not formulas or too_long(formulas, parts):
            return None
        return ComposedGradient(formulas, parts, walk.assumed, only_real)


def _real(formulas: Mapping[str, Expression]) -> dict[str, Expression]:
    """Formulas for real numbers, which are shorter."""
    return {name: simplify.drop_conjugates(formula) for name, formula in formulas.items()}


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


def _integers(operator: Operator) -> frozenset[str]:
    """The tensors that the first sample gives integers to."""
    sample = operator.test.samples[0] if operator.test.samples else {}
    return frozenset(
        n for n, v in sample.items() if re.search(r"\b(randint|arange)\(|int64", str(v))
    )


class _Walk:
    """One operator: what reaches its arguments from the result."""

    def __init__(
        self,
        index: OperatorIndex,
        defaults: Mapping[str, object],
        integers: frozenset[str],
        makes_dtype: Set[str],
        dtypes: Set[str],
    ) -> None:
        self._index = index
        self._defaults = defaults
        self._integers = integers
        self._makes_dtype = makes_dtype
        self._dtypes = dtypes
        self.sums: dict[str, Expression] = {}
        self.hidden: dict[str, Expression] = {}  # what operators keep for their gradients, by name
        self.named: dict[Expression, Expression] = {}  # the result, so that it is not written out
        self.assumed: dict[str, object] = {}
        self.only_real = False  # whether a branch for others was left out

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
                if then == otherwise:
                    return then
                return nodes.Conditional(expression.condition, then, otherwise)
            return self.chosen(expression.then if holds else expression.otherwise, depth)
        children = tuple([self.chosen(child, depth) for child in expression.children])
        if any(map(is_not, children, expression.children)):
            expression = expression.with_children(children)
        if not isinstance(expression, nodes.Call) or expression.function not in self._index:
            return expression
        try:
            operator = self._meant(expression)
        except _Unwritten:  # a function of the language has the name of an operator
            return expression
        if converts(operator):
            return _bound(expression, operator)[operator.tensor_arguments[0].name]
        if operator.kind is not Kind.COMPOSITE or operator.body is None:
            return expression
        if operator.derivative is not None and operator.derivative.formulas:
            return expression
        return self.chosen(_inside(expression, operator), depth + 1)

    def branches(self, choice: nodes.Conditional) -> tuple[Expression, ...]:
        """Those that defaults do not rule out."""
        try:
            return (choice.then if self._holds(choice.condition) else choice.otherwise,)
        except _Unwritten:
            return choice.then, choice.otherwise

    def back(self, expression: Expression, above: Expression, arguments: frozenset[str]) -> None:
        """Adds what reaches the arguments below an expression of which `above` is the gradient."""
        if not reads_elements(expression, arguments):
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
        results = operator.signature.visible_results
        if derivative is None or len(results) > 1 or not (results or _writes_first(operator)):
            raise _Unwritten
        values = _bound(call, operator)
        self._keep(_hidden_results(operator, values))
        known = values | {"grad": above}
        known |= {result.name: self.named.get(expression, expression) for result in results}
        for name, formula in derivative.formulas.items():
            if name in values:
                self.back(values[name], nodes.substitute(formula, known), arguments)
        cut_off = [values[name] for name in derivative.excluded if name in values]
        given = arguments - self._left_out(cut_off)
        if derivative.none or any(reads_elements(value, given) for value in cut_off):
            raise _Unwritten

    def _left_out(self, cut_off: list[Expression]) -> frozenset[str]:
        """The tensors that are None unless they are given, of those that no gradient reaches."""
        read = {e.identifier for e in cut_off if isinstance(e, nodes.Name)}
        found = frozenset(n for n in read if self._defaults.get(n, 0) is None)
        self.assumed |= dict.fromkeys(found)
        return found

    def _keep(self, hidden: Mapping[str, Expression]) -> None:
        """Notes what gradients read beside results; each name stands for one thing."""
        for name, formula in hidden.items():
            chosen = self.chosen(formula)
            if self.hidden.setdefault(name, chosen) != chosen or name in self._defaults:
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
            if isinstance(node, nodes.Call) and node.function == "conj":
                is_real = isinstance(simplify.literal(node.arguments[0]), int | float)
                return node.arguments[0] if is_real else node
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
        return min(fitting, key=lambda o: (_numbers_for_tensors(call, o), "." in o.full_name))

    def _holds(self, condition: Expression) -> bool:
        """What defaults say of a condition."""
        match condition:
            case nodes.Name() | nodes.Number() | nodes.Call():
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
            case nodes.Name(identifier=name) if name in self._dtypes:
                return name
            case nodes.Attribute(value=tensor, name="dtype"):
                return "int64" if nodes.reads(tensor, self._integers) else _USUAL
            case nodes.Call(function=function) if function in self._makes_dtype:
                return _USUAL
            case nodes.Call(function="is_differentiated"):  # what is kept then has no short formula
                return False
            case nodes.Call(function=name, arguments=arguments, keywords=()):
                rule = FUNCTIONS.get(name) or DTYPE_FUNCTIONS.get(name)
                if rule is not None:
                    found = rule(*map(self._value, arguments))
                    self.only_real |= name in DTYPE_FUNCTIONS
                    return found
        raise _Unwritten


def _writes_first(operator: Operator) -> bool:
    """Whether it returns nothing and writes its first argument, whose gradient is `grad`."""
    written = [a.type.mutable for a in operator.tensor_arguments]
    return not operator.signature.results and written[:1] == [True] and not any(written[1:])


def _hidden_results(operator: Operator, values: Mapping[str, Expression]) -> dict[str, Expression]:
    """What gradients read beside the result, where a body says what that is."""
    hidden = [r.name for r in operator.signature.results if r.hidden]
    if not hidden:
        return {}
    body = operator.body and _body(operator)
    if not isinstance(body, nodes.Sequence) or operator.signature.results[0].hidden:
        raise _Unwritten
    formulas = dict(zip((r.name for r in operator.signature.results), body.items, strict=True))
    return {name: nodes.substitute(formulas[name], values) for name in hidden}


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
