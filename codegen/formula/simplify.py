"""Smaller formulas with the same value.

What a person wrote is only folded, never reassociated: `x * 0` stays, since it is nan for infinite
x. The rules that drop zeros are for derivatives, where a zero says that a path does not exist;
`Algebra` applies them while a derivative is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Binary, Conditional, Expression, Number, Unary

ZERO = Number(0)
ONE = Number(1)
_LARGEST_EXPONENT = 64


def is_number(node: Expression, value: float) -> bool:
    """Whether the node is this literal (or minus a literal, negated)."""
    folded = literal(node)
    return folded is not None and folded == value


def literal(node: Expression) -> int | float | complex | None:
    """The value of a literal, signed ones included; bools are not numbers here."""
    if isinstance(node, Number) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, Unary) and node.operator == "-":
        inner = literal(node.operand)
        return None if inner is None else -inner
    return None


def simplify(expression: Expression) -> Expression:
    """Fold literals and drop +0, *1, /1, **1 and double signs.

    Values, signs of zero apart, stay what they are.
    """
    return nodes.transform(expression, _simplify_node)


def _simplify_node(node: Expression) -> Expression:
    match node:
        case Unary(operator="-", operand=Unary(operator="-", operand=inner)):
            return inner
        case Unary(operator="+", operand=operand):
            return operand
        case Unary(operator="-", operand=Number(value=value)) if not isinstance(value, bool):
            return Number(-value, span=node.span)
        case Binary(left=left, operator=operator, right=right):
            folded = fold(operator, left, right)
            return folded if folded is not None else _drop_neutral(node, left, operator, right)
        case Conditional(condition=Number(value=value), then=then, otherwise=otherwise):
            return then if value else otherwise
        case Conditional(then=then, otherwise=otherwise) if then == otherwise:
            return then
    return node


def _drop_neutral(
    node: Expression, left: Expression, operator: str, right: Expression
) -> Expression:
    match operator:
        case "+":
            if is_number(left, 0):
                return right
            if is_number(right, 0):
                return left
            if isinstance(right, Unary) and right.operator == "-":
                return Binary(left, "-", right.operand)
        case "-":
            if is_number(right, 0):
                return left
            if isinstance(right, Unary) and right.operator == "-":
                return Binary(left, "+", right.operand)
        case "*":
            if is_number(left, 1):
                return right
            if is_number(right, 1):
                return left
            if is_number(left, -1):
                return negate(right)
            if is_number(right, -1):
                return negate(left)
        case "/" | "**":
            if is_number(right, 1):
                return left
    return node


def fold(operator: str, left: Expression, right: Expression) -> Number | None:
    """The literal that two literals make.

    Integers stay exact and small; nothing that raises is folded.
    """
    a, b = literal(left), literal(right)
    if a is None or b is None:
        return None
    try:
        value = _fold(operator, a, b)
    except (ArithmeticError, ValueError, TypeError):
        return None
    if value is None or (isinstance(value, int) and abs(value) >= 2**63):
        return None
    return Number(value)


def _fold(
    operator: str, a: int | float | complex, b: int | float | complex
) -> int | float | complex | None:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
        case "**" if (
            isinstance(a, int | float) and isinstance(b, int) and abs(b) <= _LARGEST_EXPONENT
        ):
            power: float = a**b
            return power if math.isfinite(power) else None
    return None


def negate(node: Expression) -> Expression:
    """-node, without stacking signs."""
    if isinstance(node, Unary) and node.operator == "-":
        return node.operand
    if isinstance(node, Number) and not isinstance(node.value, bool):
        return Number(-node.value)
    if isinstance(node, Binary) and node.operator in ("*", "/") and literal(node.left) is not None:
        return Binary(negate(node.left), node.operator, node.right)
    return Unary("-", node)


def add(left: Expression, right: Expression) -> Expression:
    """left + right, where a literal zero is a path that does not exist."""
    if is_number(left, 0):
        return right
    if is_number(right, 0):
        return left
    folded = fold("+", left, right)
    if folded is not None:
        return folded
    if left == right:
        return multiply(Number(2), left)
    if isinstance(right, Unary) and right.operator == "-":
        return Binary(left, "-", right.operand)
    if isinstance(left, Unary) and left.operator == "-":
        return Binary(right, "-", left.operand)
    return Binary(left, "+", right)


def subtract(left: Expression, right: Expression) -> Expression:
    """left - right, where a literal zero is a path that does not exist."""
    return add(left, negate(right)) if not is_number(right, 0) else left


def multiply(left: Expression, right: Expression) -> Expression:
    """left * right; zero annihilates, signs and literals move to the front."""
    if is_number(left, 0) or is_number(right, 0):
        return ZERO
    if is_number(left, 1):
        return right
    if is_number(right, 1):
        return left
    folded = fold("*", left, right)
    if folded is not None:
        return folded
    if isinstance(left, Unary) and left.operator == "-":
        return negate(multiply(left.operand, right))
    if isinstance(right, Unary) and right.operator == "-":
        return negate(multiply(left, right.operand))
    if is_number(right, -1):
        return negate(left)
    if isinstance(right, Binary) and right.operator == "/" and is_number(right.left, 1):
        return divide(left, right.right)
    if literal(right) is not None and literal(left) is None and not _is_gradient(left):
        return multiply(right, left)
    if literal(left) is not None and isinstance(right, Binary) and right.operator == "*":
        inner = fold("*", left, right.left)
        if inner is not None:
            return multiply(inner, right.right)
    return Binary(left, "*", right)


def _is_gradient(node: Expression) -> bool:
    return isinstance(node, nodes.Name) and node.identifier.startswith("grad")


def divide(left: Expression, right: Expression) -> Expression:
    """left / right; a literal zero on top annihilates."""
    if is_number(left, 0):
        return ZERO
    if is_number(right, 1):
        return left
    if isinstance(left, Unary) and left.operator == "-":
        return negate(divide(left.operand, right))
    return Binary(left, "/", right)


def conditional(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """`then if condition else otherwise`, where the branches may agree."""
    return then if then == otherwise else Conditional(condition, then, otherwise)


def combine(operator: str) -> Callable[[Expression, Expression], Expression]:
    """The building function of + - * /."""
    return {"+": add, "-": subtract, "*": multiply, "/": divide}[operator]


def drop_conjugates(expression: Expression) -> Expression:
    """A derivative formula for real elements: conj(x) and real(x) are x, and i leads nowhere."""

    def visit(node: Expression) -> Expression:
        match node:
            case nodes.Call(function="conj" | "real", arguments=(argument,)):
                return argument
            case nodes.Call(function="imag"):
                return ZERO
            case Number(value=complex(real=real)):
                return Number(real) if real else ZERO
            case Binary(left=left, operator="*") if is_number(left, 0):
                return ZERO
            case Binary(operator="*", right=right) if is_number(right, 0):
                return ZERO
            case Binary(left=left, operator="/") if is_number(left, 0):
                return ZERO
        return node

    return nodes.transform(expression, visit)
