"""What a formula is where its tensors are 0, without any library: None where that is not known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import FunctionTable
from flambeau.codegen.formula.nodes import Expression

Known = int | float | complex | None

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def is_zero_at_zero(expression: Expression, tensors: Collection[str], table: FunctionTable) -> bool:
    """Whether the formula gives 0 where all `tensors` are 0."""
    value = _AtZero(tensors, table).value(expression)
    return value is not None and value == 0


class _AtZero:
    def __init__(self, tensors: Collection[str], table: FunctionTable) -> None:
        self._tensors, self._table = tensors, table

    def value(self, node: Expression) -> Known:
        match node:
            case nodes.Number(value=value):
                return value
            case nodes.Name(identifier=name):
                return 0 if name in self._tensors else nodes.CONSTANTS.get(name)
            case nodes.Unary(operator=symbol, operand=operand):
                return self._unary(symbol, self.value(operand))
            case nodes.Binary(left=left, operator=symbol, right=right):
                return self._binary(symbol, self.value(left), self.value(right))
            case nodes.Compare(left=left, operator=symbol, right=right):
                return self._compare(symbol, self.value(left), self.value(right))
            case nodes.Conditional(condition=condition, then=then, otherwise=otherwise):
                decided = self.value(condition)
                return None if decided is None else self.value(then if decided else otherwise)
            case nodes.Call():
                return self._call(node)
        return None

    def _unary(self, symbol: str, value: Known) -> Known:
        if value is None or symbol not in ("-", "+", "not"):
            return None
        return not value if symbol == "not" else -value if symbol == "-" else value

    def _binary(self, symbol: str, left: Known, right: Known) -> Known:
        compute = _BINARY.get(symbol)
        if compute is None or left is None or right is None:
            return None
        try:
            found: Known = compute(left, right)
        except ArithmeticError:  # 1 / 0: it is not 0
            return None
        return found

    def _compare(self, symbol: str, left: Known, right: Known) -> Known:
        compare = _COMPARE.get(symbol)
        known = compare is not None and left is not None and right is not None
        return compare(left, right) if known and compare else None

    def _call(self, node: nodes.Call) -> Known:
        function = self._table.get(node.function)
        if function is None or node.keywords:
            return None
        if function.expands is not None:
            return self.value(function.expand(node.arguments))
        arguments = [self.value(argument) for argument in node.arguments]
        if function.at_zero is not None and all(a is not None and a == 0 for a in arguments):
            return self.value(function.at_zero)
        return self.value(function.define(node.arguments)) if function.definition else None
