"""Tensor-level formulas -> C++ over Tensors: derivatives, bodies of composites, shapes,
constraints, conditions.

Arithmetic on tensors becomes calls of the operators that were declared for its token, scalar
functions become the operators of the same name, and what holds no tensor stays plain C++. The
emitter is also the type checker: whatever it cannot emit is reported at the place in the
declaration where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.cpp import (
    ATOM,
    OR,
    SIGN,
    TERNARY,
    Occurrences,
    at_least,
    compared_with_each,
    fail,
    quote,
)
from flambeau.codegen.formula.functions import FunctionTable, load_functions
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.model.types import (
    BOOL,
    DTYPE,
    SCALAR,
    STR,
    TENSOR,
    TENSOR_LIKE,
    ValueKind,
    ValueType,
    item_type,
)
from flambeau.codegen.tensor.branches import Branches, choosing_function
from flambeau.codegen.tensor.calls import CallRules
from flambeau.codegen.tensor.numbers import OWNING
from flambeau.codegen.tensor.values import Scope, Symbol, Value, literal_value, none_value
from flambeau.codegen.tensor.written import written_values
from flambeau.codegen.text.source import did_you_mean

K = ValueKind


@dataclass(frozen=True, slots=True)
class TensorCode:
    """`statements` come before `code`, an expression of type `type`.

    `families`: whose headers it needs; `calls`: the operators that it calls.
    """

    statements: tuple[str, ...]
    code: str
    type: ValueType
    families: frozenset[str]
    includes: frozenset[str]
    calls: frozenset[str]
    has_later: bool = False  # it needs operators/later.h


@dataclass(frozen=True, slots=True)
class Let:
    """A value with a name, or several for the items of one list or of one call's results.

    `later`: it is computed where it is read first.
    """

    names: tuple[str, ...]
    value: Expression
    later: bool = False


def emit_tensor(
    expression: Expression,
    scope: Mapping[str, Symbol],
    operators: OperatorIndex,
    *,
    wanted: ValueType | None = None,
    lets: Sequence[Let] = (),
    dtypes: Mapping[str, str] | None = None,
    spell: Callable[[Operator], str] = lambda operator: f"ops::{operator.identifier}",
    functions: FunctionTable | None = None,
    temporaries: str = "t",
    zero: str | None = None,
    operator: str = "formula",
    differentiated: bool = False,
) -> TensorCode:
    """C++ for one formula.

    `scope` says how names are spelled, and may spell metadata ("self.shape") that was saved. `lets`
    are bound in order. `wanted` converts the value. `dtypes` spells the dtypes that formulas may
    name. Where a formula computes with a `Tensor|Scalar`, both cases are written out, so that
    numbers keep their precision and their weakness in promotion. `zero` spells a whole value that
    is a literal 0, as gradients have it that do not flow: "Tensor()". `operator`: whose formula it
    is, for errors at run time.
    `differentiated`: what is computed may be recorded, and no branch that is not taken may make a
    NaN of a gradient (branches.py).
    """
    emitter = _Emitter(
        Scope(dict(scope)), operators, dtypes or {}, spell, functions, temporaries, operator
    )
    emitter.zero = zero
    if differentiated:
        emitter.guard_branches()
    for let in lets:
        emitter.bind_let(let)
    value = emitter.split_operands(expression, wanted)
    return TensorCode(
        tuple(emitter.statements),
        value.code,
        value.type,
        frozenset(emitter.families),
        frozenset(emitter.includes),
        frozenset(emitter.calls),
        emitter.is_later,
    )


def emit_condition(
    expression: Expression,
    scope: Mapping[str, Symbol],
    operators: OperatorIndex,
    *,
    dtypes: Mapping[str, str] | None = None,
    functions: FunctionTable | None = None,
    operator: str = "formula",
) -> TensorCode:
    """C++ of type bool, known before any element is read.

    A `Tensor|Scalar` equals a number where it is one.
    """
    emitter = _Emitter(
        Scope(dict(scope)),
        operators,
        dtypes or {},
        lambda o: f"ops::{o.identifier}",
        functions,
        "t",
        operator,
    )
    emitter.compares_operands = True
    value = emitter.truth(emitter.emit(expression), expression)
    families, includes = frozenset(emitter.families), frozenset(emitter.includes)
    return TensorCode((), value.code, BOOL, families, includes, frozenset(emitter.calls))


# Arithmetic that gives the same when its operands change places.
_SYMMETRIC = {"+": "+", "*": "*", "&": "&", "|": "|", "^": "^"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class _Emitter(CallRules):
    def __init__(
        self,
        scope: Scope,
        operators: OperatorIndex,
        dtypes: Mapping[str, str],
        spell: Callable[[Operator], str],
        functions: FunctionTable | None,
        temporaries: str,
        operator: str,
    ) -> None:
        super().__init__(scope, operators, dtypes, spell, functions or load_functions(), operator)
        self.temporaries = temporaries
        self.statements: list[str] = []
        self.compares_operands = False
        self.zero: str | None = None
        self._choosing = choosing_function(self.functions)
        self._branches: Branches | None = None
        self._deciding: set[Expression] = set()
        self._occurrences = Occurrences()
        self._written: frozenset[Expression] = frozenset()  # no part of a formula shares these
        self._values: dict[Expression, Value] = {}
        self._count = 0
        self._lazy = 0  # depth of branches that may not run
        self.is_later = False  # whether a let is computed where it is read

    def guard_branches(self) -> None:
        """From now on, choices between tensors choose what enters their branches too."""
        if self._choosing is not None:
            name = self._choosing.name
            self._branches = Branches(name, self.scope, self.functions, self.operators)

    # --- sharing ---

    def count_shared(self, expression: Expression) -> None:
        self._written |= written_values((expression,), self.operators)
        self._occurrences.count((expression,))

    def split_operands(self, expression: Expression, wanted: ValueType | None) -> Value:
        """The formula, once for each case of the `Tensor|Scalar` arguments it computes with."""
        name = next(
            (n for n in sorted(nodes.free_names(expression)) if self._computes_with(expression, n)),
            None,
        )
        if name is None:
            self.count_shared(expression)
            self._mark_whole(expression)
            value = self._whole(self.emit(expression), expression)
            if wanted is None or wanted.kind is K.NONE:
                return value
            return self.convert(value, wanted, expression)
        symbol = self.scope.get(name)
        assert symbol is not None
        cases = []
        for accessor, type_ in (("tensor", TENSOR), ("scalar", SCALAR)):
            case = {name: Symbol(f"{symbol.code}.{accessor}()", type_)}
            with self.scope.refined(case):
                cases.append(self._in_block(lambda: self.split_operands(expression, wanted)))
        then, otherwise = self.unify(cases[0], cases[1], expression)
        code = f"{symbol.code}.is_tensor() ? {at_least(then, OR)} : {at_least(otherwise, TERNARY)}"
        return Value(code, then.type, TERNARY)

    def _mark_whole(self, node: Expression) -> None:
        """Remember the conditionals that decide the whole value."""
        self._deciding.add(node)
        if isinstance(node, nodes.Conditional):
            self._mark_whole(node.then)
            self._mark_whole(node.otherwise)

    def _whole(self, value: Value, node: Expression) -> Value:
        if self.zero is not None and value.literal == 0 and node in self._deciding:
            return Value(self.zero, TENSOR, ATOM)
        return value

    def _computes_with(self, node: Expression, name: str) -> bool:
        """Whether an operand takes part in arithmetic or in a scalar function, rather than being
        passed on.
        """
        symbol = self.scope.get(name)
        if symbol is None or symbol.type.kind is not K.OPERAND:
            return False
        if self._branches is not None and self._branches.enters(name, node):
            return True
        for inner in nodes.walk(node):
            children = inner.children
            if not any(isinstance(c, nodes.Name) and c.identifier == name for c in children):
                continue
            if isinstance(inner, nodes.Call) and inner.function in self.functions:
                if len(inner.children) == 1:
                    return True
            elif isinstance(inner, nodes.Binary | nodes.Compare):
                # `tensor * operand` is one operator; an operand on the left, or next to no tensor,
                # is not.
                if inner.operator not in ("is", "is not") and not self._is_direct(inner, name):
                    return True
            elif isinstance(inner, nodes.Unary | nodes.Conditional):
                return True
        return isinstance(node, nodes.Name)

    def _is_direct(self, node: nodes.Binary | nodes.Compare, name: str) -> bool:
        is_operand = isinstance(node.right, nodes.Name) and node.right.identifier == name
        left = nodes.free_names(node.left)
        has_tensor = any(
            (s := self.scope.get(n)) is not None and s.type.kind is K.TENSOR for n in left
        )
        return is_operand and has_tensor and name not in left

    def _in_block(self, emit: Callable[[], Value]) -> Value:
        """A value whose temporaries belong to a branch that may not run: a lambda, where there are
        any.
        """
        outer = (self.statements, self._values, self._occurrences)
        self.statements, self._values = [], dict(self._values)
        self._occurrences = Occurrences()
        try:
            value = emit()
            if not self.statements:
                return value
            value = self.settle(value, nodes.NoneLiteral()) if value.type.kind is K.LIST else value
            code = f"[&] {{ {' '.join(self.statements)} return {value.code}; }}()"
            return Value(code, value.type, ATOM)
        finally:
            self.statements, self._values, self._occurrences = outer

    def _branch(self, node: Expression) -> Value:
        """A branch of a conditional that is chosen before the call."""

        def emit() -> Value:
            self.count_shared(node)
            return self.emit(node)

        return self._in_block(emit)

    def emit(self, node: Expression) -> Value:
        if node in self._values:
            return self._values[node]
        value = self.compute(node)
        is_call = value.type.kind in (K.TENSOR, K.RESULTS, K.TENSORS) and bool(node.children)
        repeats = self._occurrences.repeats(node) and node not in self._written
        if is_call and repeats and not self._lazy:
            value = self._values[node] = self._named(value)
        return value

    def _named(self, value: Value) -> Value:
        if value in self._values.values():  # what a call stands for has a name
            return value
        name = f"{self.temporaries}{self._count}"
        self._count += 1
        self.statements.append(f"const auto {name} = {value.code};")
        return Value(name, value.type, ATOM)

    def bind_let(self, let: Let) -> None:
        """`a, b = value`: later formulas read the names."""
        names, expression = let.names, let.value
        source = f"{'_'.join(names)}_let"
        value = self._in_block(lambda: self._bound(let)) if let.later else self._bound(let)
        if let.later and value.type.kind in (K.TENSOR, K.TENSORS, K.RESULTS):
            self.is_later = True
            self.statements.append(f"const forms::Later {source}([&] {{ return {value.code}; }});")
            source = f"{source}()"
        else:
            self.statements.append(f"[[maybe_unused]] const auto {source} = {value.code};")
        if len(names) == 1:
            self.scope[names[0]] = Symbol(source, value.type)
            return
        if value.type.kind is K.RESULTS:
            if len(value.type.results) != len(names):
                raise fail(expression, f"{len(value.type.results)} results for {len(names)} names")
            for i, name in enumerate(names):
                self.scope[name] = Symbol(f"std::get<{i}>({source})", value.type.results[i])
            return
        item = item_type(value.type.kind)
        if item is None:
            raise fail(expression, f"a {value.type} cannot be split into {len(names)} names")
        self.statements.append(
            f"check({source}.size() == {len(names)}, ErrorKind::runtime, {self.named}, "
            f'"(): expected {len(names)} items ({", ".join(names)}), got ", {source}.size());'
        )
        for i, name in enumerate(names):
            self.statements.append(f"[[maybe_unused]] const auto {name}_let = {source}[{i}];")
            self.scope[name] = Symbol(f"{name}_let", item)

    def _bound(self, let: Let) -> Value:
        self.count_shared(let.value)
        return self.settle(self.emit(let.value), let.value)

    # --- nodes ---

    def compute(self, node: Expression) -> Value:
        match node:
            case nodes.Name():
                return self.name(node)
            case nodes.Number(value=number):
                return literal_value(number)
            case nodes.String(value=text):
                return Value(quote(text), STR, ATOM)
            case nodes.NoneLiteral():
                return none_value()
            case nodes.Sequence():
                return self.sequence(node)
            case nodes.Attribute():
                return self.attribute(node)
            case nodes.Index():
                return self.index(node)
            case nodes.Unary(operator=operator, operand=operand):
                return self.unary(node, operator, self.emit(operand))
            case nodes.Binary():
                return self.binary(node, node.operator, self.emit(node.left), self.emit(node.right))
            case nodes.Compare():
                return self.compare(node)
            case nodes.Boolean():
                return self.boolean(node)
            case nodes.Conditional():
                return self.conditional(node)
            case nodes.Call():
                return self.call(node)
            case nodes.Comprehension():
                return self.comprehension(node)
        raise fail(node, f"'{node}' cannot be used in a formula")

    def name(self, node: nodes.Name) -> Value:
        symbol = self.scope.get(node.identifier)
        if symbol is not None:
            return Value(symbol.code, symbol.type, ATOM)
        if node.identifier in nodes.CONSTANTS:
            return literal_value(nodes.CONSTANTS[node.identifier])
        if node.identifier in self.dtypes:
            return Value(self.dtypes[node.identifier], DTYPE, ATOM)
        known = {*self.scope.names(), *nodes.CONSTANTS, *self.dtypes}
        raise fail(node, f"unknown name '{node.identifier}'", did_you_mean(node.identifier, known))

    # --- arithmetic ---

    def unary(self, node: Expression, operator: str, operand: Value) -> Value:
        if operator == "not":
            if operand.type.kind in TENSOR_LIKE:
                return self.unary(node, "~", operand)
            truth = self.truth(operand, node)
            return Value(f"!{at_least(truth, ATOM)}", BOOL, SIGN)
        if operand.type.kind in TENSOR_LIKE:
            token = {"-": "neg", "~": "invert", "+": "pos"}[operator]
            return operand if operator == "+" else self.token_call(node, token, (operand,))
        return self.number_unary(node, operator, operand)

    def binary(self, node: Expression, operator: str, left: Value, right: Value) -> Value:
        kinds = {left.type.kind, right.type.kind}
        if not kinds & TENSOR_LIKE:
            return self.number_binary(node, operator, left, right)
        return self.tensor_binary(node, operator, left, right)

    def tensor_binary(self, node: Expression, operator: str, left: Value, right: Value) -> Value:
        """The operator of the token; with a number on the left its mirror image, where there is
        one.
        """
        if left.type.kind is not K.TENSOR and right.type.kind is K.TENSOR:
            mirror = _SYMMETRIC.get(operator) or _MIRRORED.get(operator)
            if mirror is not None:
                return self.token_call(node, mirror, (right, left))
            if self.operators.named(f"reflected {operator}") is not None:
                return self.token_call(node, f"reflected {operator}", (right, left))
        return self.token_call(node, operator, (left, right))

    def token_call(self, node: Expression, token: str, values: tuple[Value, ...]) -> Value:
        name = self.operators.named(token)
        if name is None:
            raise fail(node, f"no operator is declared for '{token}' on tensors")
        return self.operator_call(node, name, values, {})

    def compare(self, node: nodes.Compare) -> Value:
        if node.operator in ("is", "is not"):
            return self.presence(node)
        if node.operator in ("in", "not in"):
            return self.emit(compared_with_each(node))
        left, right = self.emit(node.left), self.emit(node.right)
        kinds = {left.type.kind, right.type.kind}
        if self.compares_operands and K.OPERAND in kinds and node.operator in ("==", "!="):
            return self.operand_equals(node, left, right)
        if kinds & TENSOR_LIKE:
            return self.tensor_binary(node, node.operator, left, right)
        return self.number_compare(node, node.operator, left, right)

    def operand_equals(self, node: nodes.Compare, left: Value, right: Value) -> Value:
        """Whether a `Tensor|Scalar` is a number of that value."""
        operand, number = (left, right) if left.type.kind is K.OPERAND else (right, left)
        if number.type.kind not in (K.INT, K.FLOAT, K.BOOL):
            raise fail(node, f"a {operand.type} is compared with a {number.type} before the call")
        code = f"(!{operand.code}.is_tensor() && {operand.code}.scalar().equals({number.code}))"
        return Value(code if node.operator == "==" else f"!{code}", BOOL, ATOM)

    def presence(self, node: nodes.Compare) -> Value:
        if not isinstance(node.right, nodes.NoneLiteral):
            raise fail(node, "'is' compares with None")
        value = self.emit(node.left)
        if value.type.kind in (K.TENSOR,):
            code = f"{at_least(value, ATOM)}.defined()"
        elif not value.type.optional:
            raise fail(node.left, f"this is a {value.type}, which is never None")
        elif value.type.kind is K.GENERATOR:
            code = f"({value.code} != nullptr)"
        elif value.type.kind is K.TENSORS:
            code = f"!{at_least(value, ATOM)}.empty()"
        else:
            code = f"{at_least(value, ATOM)}.has_value()"
        if node.operator == "is not":
            return Value(code, BOOL, ATOM)
        return Value(code[1:] if code.startswith("!") else f"!{code}", BOOL, SIGN)

    def boolean(self, node: nodes.Boolean) -> Value:
        first = self.emit(node.operands[0])
        if (
            first.type.optional
            and node.operator == "or"
            and first.type.kind not in (K.TENSOR, K.BOOL)
        ):
            return self.value_or(node, first)
        values = [first]
        self._lazy += 1
        values += [self.emit(o) for o in node.operands[1:]]
        self._lazy -= 1
        if any(v.type.kind in TENSOR_LIKE for v in values):
            token = "&" if node.operator == "and" else "|"
            result = values[0]
            for value in values[1:]:
                result = self.tensor_binary(node, token, result, value)
            return result
        symbol = " && " if node.operator == "and" else " || "
        parts = [self.truth(v, o) for v, o in zip(values, node.operands, strict=True)]
        return Value(symbol.join(at_least(p, SIGN) for p in parts), BOOL, OR)

    def value_or(self, node: nodes.Boolean, first: Value) -> Value:
        """`optional or default`: None means the default."""
        if len(node.operands) != 2:
            raise fail(node, "'or' on an optional value takes one default")
        self._lazy += 1
        wanted = first.type.required
        default = self.convert(self.emit(node.operands[1]), wanted, node.operands[1])
        self._lazy -= 1
        code = f"{first.code}.has_value() ? *{first.code} : {at_least(default, OR)}"
        if wanted.kind is K.INTS:
            code = f"{first.code}.has_value() ? Shape(*{first.code}) : Shape({default.code})"
        return Value(code, wanted, TERNARY)

    def conditional(self, node: nodes.Conditional) -> Value:
        condition = self.emit(node.condition)
        if condition.type.kind in TENSOR_LIKE:
            return self._choice(node, condition)
        truth = self.truth(condition, node.condition)
        known = self._known_presence(node.condition)
        lazy, self._lazy = self._lazy, 0
        with self.scope.refined(known[0]):
            then = self._branch(node.then)
        with self.scope.refined(known[1]):
            otherwise = self._branch(node.otherwise)
        self._lazy = lazy
        if node in self._deciding:
            then, otherwise = self._whole(then, node.then), self._whole(otherwise, node.otherwise)
        then, otherwise = self.unify(then, otherwise, node)
        code = f"{at_least(truth, OR)} ? {at_least(then, OR)} : {at_least(otherwise, TERNARY)}"
        return Value(code, then.type, TERNARY)

    def _choice(self, node: nodes.Conditional, condition: Value) -> Value:
        """An element from one branch or from the other."""
        if self._choosing is None or self._choosing.name not in self.operators:
            raise fail(node, "no operator is declared that chooses between tensors")
        then, otherwise = node.then, node.otherwise
        if self._branches is not None:
            then = self._branches.guarded(then, node.condition, True)
            otherwise = self._branches.guarded(otherwise, node.condition, False)
        changed = [b for b in (then, otherwise) if b not in (node.then, node.otherwise)]
        if changed and not self._lazy and node.condition not in self._values:
            condition = self._values[node.condition] = self._named(condition)
        for branch in changed:
            self.count_shared(branch)
        values = (condition, self.emit(then), self.emit(otherwise))
        return self.operator_call(node, self._choosing.name, values, {})

    def call(self, node: nodes.Call) -> Value:
        is_choice = self._choosing is not None and node.function == self._choosing.name
        if is_choice and len(node.arguments) == 3 and not node.keywords:
            return self.conditional(nodes.Conditional(*node.arguments, span=node.span))
        return super().call(node)

    def _known_presence(self, condition: Expression) -> tuple[dict[str, Symbol], dict[str, Symbol]]:
        """Optional names that hold a value if the condition holds, and if it does not."""
        match condition:
            case nodes.Compare(
                left=nodes.Name(identifier=name), operator="is" | "is not" as operator
            ):
                symbol = self.scope.get(name)
                if (
                    symbol is None
                    or not symbol.type.optional
                    or symbol.type.kind in (K.GENERATOR, K.TENSORS)
                ):
                    return {}, {}
                code = symbol.code if symbol.type.kind is K.TENSOR else f"(*{symbol.code})"
                held = {name: Symbol(code, symbol.type.required)}
                return (held, {}) if operator == "is not" else ({}, held)
            case nodes.Boolean(operator=word, operands=operands):
                known = [self._known_presence(o) for o in operands]
                side = 0 if word == "and" else 1
                merged: dict[str, Symbol] = {}
                for pair in known:
                    merged |= pair[side]
                return (merged, {}) if side == 0 else ({}, merged)
            case nodes.Unary(operator="not", operand=operand):
                then, otherwise = self._known_presence(operand)
                return otherwise, then
        return {}, {}

    def comprehension(self, node: nodes.Comprehension) -> Value:
        """A list made in a loop."""
        items = self.settle(self.emit(node.iterable), node.iterable)
        item = item_type(items.type.kind)
        if item is None or len(node.names) != 1:
            raise fail(
                node.iterable,
                f"a loop takes one item after the other of a list, not of a {items.type}",
            )
        name = f"{node.names[0]}_item"

        def emit() -> Value:
            if node.condition is not None:
                raise fail(node.condition, "a loop in a formula takes every item")
            self.count_shared(node.element)
            element = self.emit(node.element)
            made = {K.INT: K.INTS, K.FLOAT: K.FLOATS, K.TENSOR: K.TENSORS}.get(element.type.kind)
            if made is None:
                raise fail(node.element, f"a list of {element.type} cannot be made here")
            push = f"items_.push_back({element.code});"
            self.statements.append(push)
            return Value(OWNING[made], ValueType(made), ATOM)

        outer = (self.statements, self._values, self._occurrences)
        self.statements, self._values = [], dict(self._values)
        self._occurrences = Occurrences()
        with self.scope.refined({node.names[0]: Symbol(name, item)}):
            made = emit()
        body = " ".join(self.statements)
        self.statements, self._values, self._occurrences = outer
        loop = f"for ([[maybe_unused]] const auto& {name} : {items.code}) {{ {body} }}"
        return Value(f"[&] {{ {made.code} items_; {loop} return items_; }}()", made.type, ATOM)
