"""Branches of a choice between tensors, written so that the one not taken leaves no trace.

`a if c else b` over tensors computes both branches, and sends a gradient of 0 into the one that is
not taken. On its way it may meet a derivative that is infinite there, and 0 * inf is NaN, which
would reach what both branches read. So the tensors that enter a branch are chosen by the same
condition: the gradient of that choice is 0 again, whatever arrives at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import Function, FunctionTable
from flambeau.codegen.formula.nodes import (
    Attribute,
    Binary,
    Boolean,
    Call,
    Compare,
    Conditional,
    Expression,
    Name,
    Number,
    Unary,
)
from flambeau.codegen.model.entries import Kind
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.model.types import TENSOR_LIKE
from flambeau.codegen.tensor.values import Scope

_NOTHING = Number(False)  # of the lowest dtype: it promotes no tensor


@dataclass(frozen=True, slots=True)
class Branches:
    """What is known of the formulas that branches are made of."""

    choosing: str  # the function that chooses: `where(c, a, b)`
    scope: Scope
    functions: FunctionTable
    operators: OperatorIndex

    def guarded(self, branch: Expression, condition: Expression, taken: bool) -> Expression:
        """The branch over what is chosen by the condition; as it is where gradients of 0 stay 0."""
        if not self._can_spoil_zero(branch):
            return branch
        return self._enter(branch, condition, taken)

    def enters(self, name: str, formula: Expression) -> bool:
        """Whether a name is chosen on its way into a branch of the formula."""
        return any(
            self._can_spoil_zero(branch) and self._reads(branch, name)
            for node in nodes.walk(formula)
            if isinstance(node, Conditional) and self.reads_tensor(node.condition)
            for branch in (node.then, node.otherwise)
        )

    def _reads(self, node: Expression, name: str) -> bool:
        if isinstance(node, Attribute):
            return False
        is_name = isinstance(node, Name) and node.identifier == name
        return is_name or any(self._reads(child, name) for child in node.children)

    def reads_tensor(self, node: Expression) -> bool:
        """Whether elements of a tensor are read; its shape and the like do not count."""
        if isinstance(node, Attribute):
            return not isinstance(node.value, Name) and self.reads_tensor(node.value)
        if isinstance(node, Name):
            symbol = self.scope.get(node.identifier)
            return symbol is not None and symbol.type.kind in TENSOR_LIKE
        return any(self.reads_tensor(child) for child in node.children)

    def _can_spoil_zero(self, node: Expression) -> bool:
        """Whether a gradient is multiplied by more than numbers on its way through."""
        match node:
            case Unary(operator="-" | "+", operand=operand):
                return self._can_spoil_zero(operand)
            case Binary(left=left, operator="+" | "-", right=right):
                return self._can_spoil_zero(left) or self._can_spoil_zero(right)
            case Binary(left=left, operator="*", right=right) if not (
                self.reads_tensor(left) and self.reads_tensor(right)
            ):
                return self._can_spoil_zero(left) or self._can_spoil_zero(right)
            case Binary(left=left, operator="/", right=right) if not self.reads_tensor(right):
                return self._can_spoil_zero(left)
            case Conditional(then=then, otherwise=otherwise):
                return self._can_spoil_zero(then) or self._can_spoil_zero(otherwise)
            case Call(function=function, arguments=(_, then, otherwise)) if (
                function == self.choosing
            ):
                return self._can_spoil_zero(then) or self._can_spoil_zero(otherwise)
            case Binary() | Unary():
                return self.reads_tensor(node)
            case Call(function=function):
                return self._is_elementwise(function) and self.reads_tensor(node)
        return False

    def _enter(self, node: Expression, condition: Expression, taken: bool) -> Expression:
        """The formula with each tensor that enters it chosen."""
        if isinstance(node, Compare | Boolean) or not self.reads_tensor(node):
            return node
        if not self._is_elementwise_node(node):
            pair = (node, _NOTHING) if taken else (_NOTHING, node)
            return Call(self.choosing, (condition, *pair), span=node.span)
        first = 1 if self._is_choice(node) else 0  # its condition has no gradient
        children = tuple(
            child if index < first else self._enter(child, condition, taken)
            for index, child in enumerate(node.children)
        )
        return node.with_children(children)

    def _is_elementwise(self, name: str) -> bool:
        """Whether the results of a function stand where its operands do."""
        function = self.functions.get(name)
        if function is not None and function.level == "element":
            return True
        declared = self.operators.overloads(name)
        return bool(declared) and all(o.kind is Kind.POINTWISE for o in declared)

    def _is_elementwise_node(self, node: Expression) -> bool:
        if isinstance(node, Call):
            return not node.keywords and self._is_elementwise(node.function)
        return isinstance(node, Unary | Binary | Conditional)

    def _is_choice(self, node: Expression) -> bool:
        is_call = isinstance(node, Call) and node.function == self.choosing
        return is_call or isinstance(node, Conditional)


def choosing_function(functions: Mapping[str, Function]) -> Function | None:
    """The function that stands for `a if c else b`."""
    for function in functions.values():
        expands = function.expands
        if isinstance(expands, Conditional) and all(isinstance(c, Name) for c in expands.children):
            return function
    return None
