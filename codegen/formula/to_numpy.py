"""Pointwise formulas as NumPy callables, for the checks that run before any compiler does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.evaluate import Evaluator, MissingError, module
from flambeau.codegen.formula.functions import (
    OPERATOR_FUNCTIONS,
    Function,
    FunctionTable,
    load_functions,
)
from flambeau.codegen.formula.nodes import Expression


def to_numpy(
    expression: Expression, functions: FunctionTable | None = None
) -> Callable[[Mapping[str, Any]], Any]:
    """A callable from values by name to the formula's value, elementwise with broadcasting.

    Both branches of a conditional are computed where its condition is an array; floating-point
    warnings are off.
    """
    table = functions or load_functions()

    def evaluate(values: Mapping[str, Any]) -> Any:
        with np.errstate(all="ignore"):
            return ElementEvaluator(values, table)(expression)

    return evaluate


class ElementEvaluator(Evaluator):
    """Elementwise semantics: `a if c else b`, and, or, not work on arrays."""

    def __init__(self, names: Mapping[str, Any], table: FunctionTable) -> None:
        super().__init__(names)
        self.table = table

    def conditional(self, node: nodes.Conditional) -> Any:
        condition = self(node.condition)
        if np.ndim(condition) == 0 and not isinstance(condition, np.ndarray):
            return self(node.then if condition else node.otherwise)
        return np.where(condition, self(node.then), self(node.otherwise))

    def boolean(self, node: nodes.Boolean) -> Any:
        value = self(node.operands[0])
        for operand in node.operands[1:]:
            if isinstance(value, bool):
                if value is (node.operator == "or"):
                    return value
                value = self(operand)
            else:
                combine = np.logical_and if node.operator == "and" else np.logical_or
                value = combine(value, self(operand))
        return value

    def unary(self, symbol: str, operand: Any) -> Any:
        if symbol == "not" and not isinstance(operand, bool):
            return np.logical_not(operand)
        if symbol == "-" and np.asarray(operand).dtype == bool:
            return -np.asarray(operand).astype(np.int64)
        return super().unary(symbol, operand)

    def binary(self, node: Expression, symbol: str, left: Any, right: Any) -> Any:
        if symbol in OPERATOR_FUNCTIONS and isinstance(left, np.ndarray | np.generic):
            return self._numpy(self.table[OPERATOR_FUNCTIONS[symbol]])(left, right)
        if symbol in "+-*" and _is_bool(left) and _is_bool(right):
            left, right = np.asarray(left).astype(np.int64), np.asarray(right).astype(np.int64)
        if symbol == "/" and not isinstance(left, np.ndarray | np.generic):
            return np.divide(left, right)
        return super().binary(node, symbol, left, right)

    def function(self, node: Expression, name: str) -> Callable[..., Any]:
        found = self.table.get(name)
        if found is None or found.level != "element":
            raise MissingError(node, f"'{name}' has no NumPy equivalent")
        return self._numpy(found)

    def _numpy(self, function: Function) -> Callable[..., Any]:
        if function.expands is not None:
            formula, names = function.expands, [p.name for p in function.parameters]
            return lambda *a: type(self)(dict(zip(names, a, strict=True)), self.table)(formula)
        if function.numpy is None:
            raise MissingError(Expression(), f"'{function.name}' has no NumPy equivalent")
        root, _, name = function.numpy.partition(".")
        return getattr(module(root), name)  # type: ignore[no-any-return]


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
