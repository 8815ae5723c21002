"""Pointwise formulas -> scalar C++ over an element type T, for CPU loops and CUDA kernels alike, or
another dialect of C (`dialect.py`).

The surrounding code defines three types: T, what elements are computed in; R, its real type; N,
what numbers are computed in before they meet elements (double, int64_t, or complex<double>). Parts
that read no element are computed once, in N, outside the loop; parts that occur twice are bound to
a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.cpp import (
    AND,
    ATOM,
    EQUAL,
    LESS,
    OR,
    PRECEDENCE,
    PRODUCT,
    SIGN,
    SUM,
    TERNARY,
    Occurrences,
    at_least,
    compared_with_each,
    fail,
    integer_literal,
    only_compares,
    quote,
)
from flambeau.codegen.formula.dialect import CPP, Dialect
from flambeau.codegen.formula.functions import OPERATOR_FUNCTIONS, FunctionTable, load_functions
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.text.source import DeclarationError, Span


class ScalarType(Enum):
    """What a name holds in C++."""

    ELEMENT = "T"
    REAL = "R"
    INDEX = "int64_t"
    BOOL = "bool"
    # The rest does not change from element to element.
    NUMBER = "N"
    INT = "const int64_t"
    FLOAT = "const double"
    FLAG = "const bool"
    STRING = "std::string_view"

    @property
    def is_constant(self) -> bool:
        return self in _CONSTANT


_CONSTANT = frozenset(
    {ScalarType.NUMBER, ScalarType.INT, ScalarType.FLOAT, ScalarType.FLAG, ScalarType.STRING}
)
_RANK = {
    ScalarType.BOOL: 0,
    ScalarType.FLAG: 0,
    ScalarType.INT: 1,
    ScalarType.INDEX: 1,
    ScalarType.FLOAT: 2,
    ScalarType.REAL: 2,
    ScalarType.NUMBER: 3,
    ScalarType.ELEMENT: 3,
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """How a name is spelled.

    `presence`: for an optional argument, the C++ condition that it was given.
    """

    code: str
    type: ScalarType = ScalarType.ELEMENT
    presence: str | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A C++ expression. `wide`: arithmetic that C++ promotes to int when T is a small integer."""

    code: str
    type: ScalarType
    precedence: int
    literal: int | float | bool | complex | None = None
    wide: bool = False


@dataclass(frozen=True, slots=True)
class ScalarCode:
    """`hoisted` statements belong before the loop, `statements` inside it; `draws` names the random
    numbers that the formula takes: draw i is read as FUNCTION_i. `calls` names the functions of the
    dialect's library that it calls.
    """

    hoisted: tuple[str, ...]
    statements: tuple[str, ...]
    results: tuple[Value, ...]
    draws: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()


_LARGEST_UNROLLED_POWER = 4


def emit_scalar(
    formulas: Sequence[Expression],
    symbols: Mapping[str, Symbol],
    *,
    bind_results: Sequence[str] = (),
    constants: str = "c",
    dialect: Dialect = CPP,
    functions: FunctionTable | None = None,
) -> ScalarCode:
    """C++ for some formulas that are computed together.

    With `bind_results`, formula i is bound to that name, and later formulas that read the name see
    its new value. `constants`: what the names begin with that are hoisted.
    """
    emitter = _Emitter(symbols, dialect, functions or load_functions(), constants)
    emitter.count_shared(formulas)
    results = []
    for index, formula in enumerate(formulas):
        value = emitter.result(formula)
        if bind_results:
            value = emitter.rebind(bind_results[index], value)
        results.append(value)
    return ScalarCode(
        tuple(emitter.hoisted),
        tuple(emitter.statements),
        tuple(results),
        tuple(emitter.draws),
        frozenset(emitter.calls),
    )


def emit_constant(
    expression: Expression,
    symbols: Mapping[str, Symbol],
    *,
    dialect: Dialect = CPP,
    functions: FunctionTable | None = None,
) -> ScalarCode:
    """C++ for a condition or a number that reads no element: an expression alone."""
    emitter = _Emitter(symbols, dialect, functions or load_functions())
    value = emitter.emit(expression)
    if not value.type.is_constant:
        raise fail(expression, "this reads elements, but must be known before the loop")
    return ScalarCode((), (), (value,), (), frozenset(emitter.calls))


class _Emitter:
    def __init__(
        self,
        symbols: Mapping[str, Symbol],
        dialect: Dialect,
        functions: FunctionTable,
        constants: str = "c",
    ) -> None:
        self._named = constants
        self.symbols = dict(symbols)
        self.dialect = dialect
        self.functions = functions
        self.hoisted: list[str] = []
        self.statements: list[str] = []
        self.draws: list[str] = []
        self.calls: set[str] = set()
        self._draw_of: dict[Span, str] = {}
        self._occurrences = Occurrences()
        self._values: dict[Expression, Value] = {}
        self._constants: dict[tuple[str, str], Value] = {}
        self._here = Span("<formula>", 1, 1)  # what is being computed
        self._choices = 0  # around it, between values
        self._conditions = 0  # that it is part of

    # --- sharing ---

    def count_shared(self, formulas: Sequence[Expression]) -> None:
        self._occurrences.count(formulas)

    def emit(self, node: Expression) -> Value:
        if node in self._values:
            return self._values[node]
        outer, self._here = self._here, node.span or self._here
        value = self.compute(node)
        self._here = outer
        repeated = self._occurrences.repeats(node) and not isinstance(node, nodes.Unary)
        if (
            repeated
            and node.children
            and not value.type.is_constant
            and not self._draws_numbers(node)
        ):
            value = self._values[node] = self.bind(value)
        return value

    def _draws_numbers(self, node: Expression) -> bool:
        return any(
            (f := self.functions.get(name)) is not None and f.level == "random"
            for name in nodes.calls(node)
        )

    def bind(self, value: Value) -> Value:
        """Give the value a name, unless it has one."""
        if value.precedence == ATOM and value.code.isidentifier():
            return value
        name = f"t{len(self.statements)}"
        spelled = self.dialect.spell(value.type.value)
        self.statements.append(f"const {spelled} {name} = {value.code};")
        return Value(name, value.type, ATOM)

    def rebind(self, name: str, value: Value) -> Value:
        """Later formulas read the new value of `name`."""
        bound = self.bind(value)
        self.symbols[name] = Symbol(bound.code, bound.type)
        self._values = {k: v for k, v in self._values.items() if not nodes.reads(k, {name})}
        return bound

    def result(self, formula: Expression) -> Value:
        value = self.emit(formula)
        if value.type in (ScalarType.BOOL, ScalarType.REAL, ScalarType.INDEX):
            return value
        return self.to(ScalarType.ELEMENT, value)

    # --- conversions ---

    def to(self, target: ScalarType, value: Value) -> Value:
        """The value as an element of type T or R, as int64 or as bool."""
        if value.type is target:
            return value
        if target is ScalarType.BOOL:
            return self.truth(value)
        if value.type is ScalarType.STRING:
            raise DeclarationError.at(self._here, f"text ({value.code}) used as a number")
        if target is ScalarType.INDEX:
            return replace(value, type=target)
        if value.literal is not None:
            return Value(self.literal(value.literal, target), target, ATOM, value.literal)
        if value.type.is_constant and value.type is not ScalarType.FLAG:
            return self.hoist(target, value)
        return Value(self.dialect.convert(target.value, value.code), target, ATOM)

    def literal(self, value: int | float | bool | complex, target: ScalarType | None = None) -> str:
        if isinstance(value, complex) and self.dialect.complex_literal is None:
            message = f"{self.dialect.name} has no complex numbers"
            raise DeclarationError.at(Span("<formula>", 1, 1), message)
        return self.dialect.literal(value, target.value if target else "")

    def hoist(self, target: ScalarType, value: Value) -> Value:
        key = (value.code, target.value)
        if key not in self._constants:
            name = f"{self._named}{len(self._constants)}"
            spelled = self.dialect.spell(target.value)
            code = self.dialect.cast_to(target.value, value.code)
            self.hoisted.append(f"const {spelled} {name} = {code};")
            self._constants[key] = Value(name, target, ATOM)
        return self._constants[key]

    def truth(self, value: Value) -> Value:
        if value.type in (ScalarType.BOOL, ScalarType.FLAG):
            return value
        result = ScalarType.FLAG if value.type.is_constant else ScalarType.BOOL
        if value.type is ScalarType.STRING:
            return Value(f"!{at_least(value, ATOM)}.empty()", result, SIGN)
        zero = (
            "0"
            if value.type not in (ScalarType.ELEMENT, ScalarType.REAL)
            else self.dialect.convert(value.type.value, "0")
        )
        return Value(f"{at_least(self.narrow(value), LESS)} != {zero}", result, EQUAL)

    def narrow(self, value: Value) -> Value:
        """Arithmetic of small integers, wrapped around as their type does."""
        if value.wide and value.type is ScalarType.ELEMENT:
            return Value(self.dialect.convert("T", value.code), value.type, ATOM)
        return value

    def unify(
        self, values: Sequence[Value], *, floating: bool = False
    ) -> tuple[list[Value], ScalarType]:
        """The values in their common type. Constants stay in C++ arithmetic among themselves."""
        types = [v.type for v in values]
        if ScalarType.STRING in types:
            if all(t is ScalarType.STRING for t in types):
                return list(values), ScalarType.STRING
            text = next(v.code for v in values if v.type is ScalarType.STRING)
            raise DeclarationError.at(self._here, f"text ({text}) used as a number")
        rank = max(_RANK[t] for t in types)
        has_complex = any(isinstance(v.literal, complex) for v in values)
        if all(t.is_constant for t in types):
            target = {
                0: ScalarType.FLAG,
                1: ScalarType.INT,
                2: ScalarType.FLOAT,
                3: ScalarType.NUMBER,
            }[rank]
            if has_complex:
                target = ScalarType.NUMBER
            if floating and rank < 2:
                values = [self.constant_double(v) for v in values]
                target = ScalarType.FLOAT
            return list(values), target
        if has_complex or rank == 3:
            target = ScalarType.ELEMENT
        elif rank == 2 or floating:
            target = ScalarType.REAL if ScalarType.REAL in types or floating else ScalarType.ELEMENT
        else:
            target = ScalarType.INDEX if rank else ScalarType.BOOL
        return [self.to(target, v) for v in values], target

    def constant_double(self, value: Value) -> Value:
        if value.literal is not None:
            return Value(
                self.literal(float(value.literal.real)), ScalarType.FLOAT, ATOM, value.literal
            )
        return Value(self.dialect.cast_to("double", value.code), ScalarType.FLOAT, ATOM)

    # --- nodes ---

    def compute(self, node: Expression) -> Value:
        match node:
            case nodes.Name():
                return self.name(node)
            case nodes.Number(value=value):
                return self.number(value)
            case nodes.String(value=text):
                return Value(quote(text), ScalarType.STRING, ATOM)
            case nodes.Call():
                return self.call(node)
            case nodes.Unary():
                return self.unary(node)
            case nodes.Binary(operator="**"):
                return self.power(node)
            case nodes.Binary(operator=operator) if operator in OPERATOR_FUNCTIONS:
                name = OPERATOR_FUNCTIONS[operator]
                return self.call(nodes.Call(name, node.children, span=node.span))
            case nodes.Binary():
                return self.binary(node)
            case nodes.Compare():
                return self.compare(node)
            case nodes.Boolean(operator=operator, operands=operands):
                return self.boolean(operator, operands)
            case nodes.Conditional():
                return self.conditional(node)
        raise fail(node, f"'{node}' cannot be computed element by element")

    def name(self, node: nodes.Name) -> Value:
        symbol = self.symbols.get(node.identifier)
        if symbol is not None:
            return Value(symbol.code, symbol.type, ATOM)
        if node.identifier in nodes.CONSTANTS:
            return self.number(nodes.CONSTANTS[node.identifier])
        raise fail(node, f"unknown name '{node.identifier}'")

    def unary(self, node: nodes.Unary) -> Value:
        value = self.emit(node.operand)
        if node.operator == "not":
            truth = self.truth(value)
            return Value(f"!{at_least(truth, SIGN)}", truth.type, SIGN)
        if node.operator == "+":
            return value
        if node.operator == "~":
            if value.type in (ScalarType.BOOL, ScalarType.FLAG):
                return Value(f"!{at_least(value, SIGN)}", value.type, SIGN)
            return self.call(nodes.Call(OPERATOR_FUNCTIONS["~"], (node.operand,), span=node.span))
        if value.type is ScalarType.STRING:
            raise fail(node, "text cannot be negated")
        if value.literal is not None:
            return self.number(-value.literal)
        if value.type in (ScalarType.BOOL, ScalarType.FLAG):
            value = replace(
                value, type=ScalarType.INDEX if value.type is ScalarType.BOOL else ScalarType.INT
            )
        return Value(f"-{at_least(value, ATOM)}", value.type, SIGN, wide=True)

    def binary(self, node: nodes.Binary) -> Value:
        operator = node.operator
        if operator not in PRECEDENCE:
            raise fail(node, f"'{operator}' cannot be computed element by element")
        left, right = self.emit(node.left), self.emit(node.right)
        if operator == "*" and (scaled := self.scaled(left, right) or self.scaled(right, left)):
            return scaled
        (left, right), target = self.unify((left, right), floating=operator == "/")
        if target is ScalarType.STRING:
            raise fail(node, f"'{operator}' does not apply to text")
        own = PRECEDENCE[operator]
        if operator in "&|^":
            # Mixed with other operators, C++ compilers ask for parentheses anyway.
            code = f"{at_least(left, SIGN)} {operator} {at_least(right, SIGN)}"
            return Value(code, target, own, wide=True)
        if target in (ScalarType.BOOL, ScalarType.FLAG):
            target = ScalarType.INDEX if target is ScalarType.BOOL else ScalarType.INT
        code = f"{at_least(left, own)} {operator} {at_least(right, own + 1)}"
        return Value(code, target, own, wide=True)

    def scaled(self, number: Value, element: Value) -> Value | None:
        """A number times an element: a real one scales both parts of a complex element, where a
        product of complex numbers would make NaN of infinities."""
        if (number.type, element.type) != (ScalarType.NUMBER, ScalarType.ELEMENT):
            return None
        if self.dialect.complex_literal is None:
            return None
        factor = self.to(ScalarType.ELEMENT, number)
        code = f"{self.dialect.prefix}scaled({factor.code}, {self.narrow(element).code})"
        return Value(code, ScalarType.ELEMENT, ATOM)

    def power(self, node: nodes.Binary) -> Value:
        exponent = integer_literal(node.right)
        if exponent is None or abs(exponent) > _LARGEST_UNROLLED_POWER:
            return self.call(nodes.Call(OPERATOR_FUNCTIONS["**"], node.children, span=node.span))
        base = self.emit(node.left)
        if base.type in (ScalarType.BOOL, ScalarType.FLAG):
            base = self.to(ScalarType.ELEMENT, base)
        if base.type.is_constant:
            factor = at_least(base, ATOM)
            product = " * ".join([factor] * abs(exponent)) if exponent else "1"
            result = Value(product, base.type, PRODUCT if abs(exponent) > 1 else ATOM)
            return (
                result
                if exponent >= 0
                else Value(f"1.0 / ({product})", _floating(base.type), PRODUCT)
            )
        one = self.dialect.convert(base.type.value, "1")
        if exponent == 0:
            return Value(one, base.type, ATOM)
        base = self.bind(base)
        result = base
        if abs(exponent) == 4:
            square = self.bind(Value(f"{base.code} * {base.code}", base.type, PRODUCT))
            result = Value(f"{square.code} * {square.code}", base.type, PRODUCT, wide=True)
        elif abs(exponent) > 1:
            result = Value(" * ".join([base.code] * abs(exponent)), base.type, PRODUCT, wide=True)
        if exponent < 0:
            return Value(f"{one} / {at_least(result, SIGN)}", base.type, PRODUCT)
        return result

    def compare(self, node: nodes.Compare) -> Value:
        if node.operator in ("is", "is not"):
            return self.presence(node)
        if node.operator in ("in", "not in"):
            return self.emit(compared_with_each(node))
        (left, right), target = self.unify([self.emit(node.left), self.emit(node.right)])
        left, right = self.narrow(left), self.narrow(right)
        own = PRECEDENCE[node.operator]
        code = f"{at_least(left, SUM)} {node.operator} {at_least(right, SUM)}"
        if target is ScalarType.STRING:
            if self.dialect.text is None:
                raise fail(node, f"{self.dialect.name} does not compare text")
            texts = (self.dialect.text.format(code=v.code) for v in (left, right))
            code = f" {node.operator} ".join(texts)
        return Value(code, ScalarType.FLAG if target.is_constant else ScalarType.BOOL, own)

    def presence(self, node: nodes.Compare) -> Value:
        name = node.left
        if not isinstance(name, nodes.Name) or not isinstance(node.right, nodes.NoneLiteral):
            raise fail(node, "'is' compares an optional argument with None")
        symbol = self.symbols.get(name.identifier)
        if symbol is None:
            raise fail(name, f"unknown name '{name.identifier}'")
        if symbol.presence is None:
            raise fail(name, f"'{name.identifier}' is never None")
        if node.operator == "is not":
            return Value(f"({symbol.presence})", ScalarType.FLAG, ATOM)
        return Value(f"!({symbol.presence})", ScalarType.FLAG, SIGN)

    def boolean(self, word: str, operands: tuple[Expression, ...]) -> Value:
        values = [self.truth(self.emit(o)) for o in operands]
        own, symbol = (AND, " && ") if word == "and" else (OR, " || ")
        constant = all(v.type is ScalarType.FLAG for v in values)
        if not self._conditions and not constant and all(map(only_compares, operands)):
            # Results without a branch, which loops over them would keep.
            code = f" {symbol[1]} ".join(at_least(v, ATOM) for v in values)
            return Value(code, ScalarType.BOOL, OR)
        code = symbol.join(at_least(v, EQUAL) for v in values)
        return Value(code, ScalarType.FLAG if constant else ScalarType.BOOL, own)

    def conditional(self, node: nodes.Conditional) -> Value:
        self._conditions += 1
        condition = self.truth(self.emit(node.condition))
        self._conditions -= 1
        self._choices += 1
        branches = [self.emit(node.then), self.emit(node.otherwise)]
        self._choices -= 1
        (then, otherwise), target = self.unify(branches)
        if target.is_constant and condition.type is ScalarType.BOOL:
            # Not a constant any more: the branches become elements.
            then, otherwise = (self.to(ScalarType.ELEMENT, v) for v in (then, otherwise))
            target = ScalarType.ELEMENT
        if target in (ScalarType.NUMBER, ScalarType.FLOAT) and not all(
            v.type is target and v.literal is None for v in (then, otherwise)
        ):
            then, otherwise = (
                Value(self.dialect.cast_to(target.value, v.code), target, ATOM)
                for v in (then, otherwise)
            )
        branches_code = f"{at_least(then, OR)} : {at_least(otherwise, TERNARY)}"
        code = f"{at_least(condition, OR)} ? {branches_code}"
        return Value(code, target, TERNARY, wide=then.wide or otherwise.wide)

    def call(self, node: nodes.Call) -> Value:
        function = self.functions.get(node.function)
        if function is None:
            raise fail(node, f"unknown function '{node.function}'")
        if node.keywords or len(node.arguments) != function.arity:
            raise fail(node, f"'{node.function}' takes {function.arity} arguments by position")
        if function.level == "random":
            return self.draw(node)
        if function.expands is not None:
            return self.emit(function.expand(node.arguments))
        if not self.dialect.has(function.name):
            if function.definition is None:
                raise fail(node, f"{self.dialect.name} has no function '{node.function}'")
            # The arguments may stand several times in a definition.
            self.count_shared([*node.arguments, *node.arguments])
            return self.emit(function.define(node.arguments))
        roles = [p.type for p in function.parameters]
        values = [self.emit(a) for a in node.arguments]
        elements = [v for v, role in zip(values, roles, strict=True) if role == "element"]
        elements, target = self.unify(elements, floating="integral" not in function.accepts)
        if target.is_constant or target is ScalarType.INDEX:
            elements = [self.exactly(target, v) for v in elements]
        if function.name in ("conj", "real") and _RANK[target] < _RANK[ScalarType.ELEMENT]:
            return elements[0]  # already real
        if target in (ScalarType.BOOL, ScalarType.INDEX) and "integral" not in function.accepts:
            elements, target = [self.to(ScalarType.REAL, e) for e in elements], ScalarType.REAL
        if "integral" in function.accepts:
            elements = [self.narrow(e) for e in elements]
        remaining = iter(elements)
        codes = [
            next(remaining).code if role == "element" else self.other(role, value)
            for value, role in zip(values, roles, strict=True)
        ]
        if function.result == "bool":
            target = ScalarType.FLAG if target.is_constant else ScalarType.BOOL
        elif function.result == "integer":
            target = ScalarType.INT if target.is_constant else ScalarType.INDEX
        elif function.result == "real" and target is ScalarType.ELEMENT:
            target = ScalarType.REAL
        self.calls.add(function.name)
        # A loop is no vector loop where one of two values to choose from is a call.
        is_inlined = function.written_in is not None and self._choices > 0
        prefix = f"{self.dialect.prefix}{self.dialect.inlined if is_inlined else ''}"
        if function.branches_apart and self._choices == 0:
            prefix = prefix.removesuffix(self.dialect.inlined)  # its lanes choose in calls alone
        if function.has_vectors and self._choices == 0:
            prefix += self.dialect.alone
        return Value(f"{prefix}{function.cpp}({', '.join(codes)})", target, ATOM)

    def other(self, role: str, value: Value) -> str:
        """An argument that is not an element: a condition or an integer."""
        if role == "condition":
            return self.truth(value).code
        return self.dialect.convert("int64_t", value.code)

    def exactly(self, target: ScalarType, value: Value) -> Value:
        """An argument whose C++ type is exactly that of `target`, so that overloads and templates
        agree.
        """
        is_exact = value.type is target and value.literal is None and not value.wide
        if is_exact or target is ScalarType.STRING:
            return value
        return Value(self.dialect.cast_to(target.value, value.code), target, ATOM, value.literal)

    def number(self, value: int | float | bool | complex) -> Value:
        code = self.literal(value)
        if isinstance(value, bool):
            return Value(code, ScalarType.FLAG, ATOM, value)
        if isinstance(value, int):
            return Value(code, ScalarType.INT, SIGN if value < 0 else ATOM, value)
        if isinstance(value, float):
            return Value(code, ScalarType.FLOAT, SIGN if code.startswith("-") else ATOM, value)
        return Value(code, ScalarType.NUMBER, ATOM, value)

    def draw(self, node: nodes.Call) -> Value:
        """A let that was substituted in two places keeps its span: it is one draw."""
        if node.span is not None and node.span in self._draw_of:
            return Value(self._draw_of[node.span], ScalarType.REAL, ATOM)
        name = f"{node.function}_{len(self.draws)}"
        self.draws.append(node.function)
        if node.span is not None:
            self._draw_of[node.span] = name
        return Value(name, ScalarType.REAL, ATOM)


def _floating(type_: ScalarType) -> ScalarType:
    return ScalarType.NUMBER if type_ is ScalarType.NUMBER else ScalarType.FLOAT
