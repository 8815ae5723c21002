"""What all that is printed as C++ shares, of elements and of tensors: how tightly operators bind,
text, membership, and which parts of a formula occur twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.text.source import DeclarationError, Span

# How tightly an expression of C++ binds, the loosest first.
TERNARY, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUAL, LESS, SUM, PRODUCT, SIGN, ATOM = range(12)
PRECEDENCE = {
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "&": BIT_AND,
    "^": BIT_XOR,
    "|": BIT_OR,
    "==": EQUAL,
    "!=": EQUAL,
    "<": LESS,
    "<=": LESS,
    ">": LESS,
    ">=": LESS,
}


class Spelled(Protocol):
    """An expression of C++."""

    @property
    def code(self) -> str: ...

    @property
    def precedence(self) -> int: ...


def at_least(value: Spelled, precedence: int) -> str:
    """The code, in parentheses where it binds more loosely."""
    return value.code if value.precedence >= precedence else f"({value.code})"


def quote(text: str) -> str:
    """A string literal."""
    escaped = "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\{ord(c):03o}" for c in text)
    return f'"{escaped}"'


def fail(node: Expression, message: str, hint: str | None = None) -> DeclarationError:
    """An error that points at the node."""
    return DeclarationError.at(nodes.first_span(node) or Span("<formula>", 1, 1), message, hint)


def compared_with_each(node: nodes.Compare) -> Expression:
    """`x in [a, b]` as `x == a or x == b`, `x not in [a, b]` as `x != a and x != b`."""
    if not isinstance(node.right, nodes.Sequence) or not node.right.items:
        raise fail(node.right, f"'{node.operator}' needs a list of values")
    equal, word = ("==", "or") if node.operator == "in" else ("!=", "and")
    pairs = tuple(nodes.Compare(node.left, equal, i, span=node.span) for i in node.right.items)
    return nodes.Boolean(word, pairs) if len(pairs) > 1 else pairs[0]


def only_compares(node: Expression) -> bool:
    """Whether nothing of a node is dear: comparisons of names and numbers."""
    if isinstance(node, nodes.Boolean):
        return all(map(only_compares, node.operands))
    sides = (node.left, node.right) if isinstance(node, nodes.Compare) else ()
    return bool(sides) and all(isinstance(side, nodes.Name | nodes.Number) for side in sides)


def integer_literal(node: Expression) -> int | None:
    if isinstance(node, nodes.Unary) and node.operator == "-":
        inner = integer_literal(node.operand)
        return None if inner is None else -inner
    if isinstance(node, nodes.Number) and not isinstance(node.value, bool | complex):
        return (
            int(node.value) if math.isfinite(node.value) and node.value == int(node.value) else None
        )
    return None


class Occurrences:
    """How often each part of some formulas occurs, not counting repeats inside a repeated part."""

    def __init__(self) -> None:
        self._counts: dict[Expression, int] = {}

    def count(self, formulas: Iterable[Expression]) -> None:
        for formula in formulas:
            self._visit(formula)

    def repeats(self, node: Expression) -> bool:
        return self._counts.get(node, 0) > 1

    def _visit(self, node: Expression) -> None:
        self._counts[node] = self._counts.get(node, 0) + 1
        if self._counts[node] == 1:
            for child in node.children:
                self._visit(child)
