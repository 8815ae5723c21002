"""What a formula is where its tensors are 0, without any library."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import FunctionTable
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.walker import Walker


def is_zero_at_zero(expression: Expression, tensors: Collection[str], table: FunctionTable) -> bool:
    """Whether the formula gives 0 where all `tensors` are 0."""
    try:
        return bool(_AtZero(tensors, table)(expression) == 0)
    except _UnknownError:
        return False


class _UnknownError(Exception):
    """What a part gives at 0 is not known, or is no number."""


class _AtZero(Walker):
    def __init__(self, tensors: Collection[str], table: FunctionTable) -> None:
        super().__init__(dict.fromkeys(tensors, 0))
        self._table = table

    def refuse(self, node: Expression) -> NoReturn:
        raise _UnknownError

    def compute(self, node: Expression) -> Any:
        try:
            return super().compute(node)
        except (ArithmeticError, TypeError, ValueError):  # 1 / 0, 1 << -1: it is not 0
            raise _UnknownError from None

    def unary(self, symbol: str, operand: Any) -> Any:
        if symbol == "~":  # of a bool, Python gives an integer
            raise _UnknownError
        return super().unary(symbol, operand)

    def call(self, node: nodes.Call) -> Any:
        function = self._table.get(node.function)
        if function is None or node.keywords:
            raise _UnknownError
        if function.expands is not None:
            return self(function.expand(node.arguments))
        if function.at_zero is not None and all(map(self._is_zero, node.arguments)):
            return self(function.at_zero)
        if function.definition is None:
            raise _UnknownError
        return self(function.define(node.arguments))

    def _is_zero(self, argument: Expression) -> bool:
        try:
            return bool(self(argument) == 0)
        except _UnknownError:
            return False
