"""Expression trees walked with Python's operators, without any library: what NumPy evaluates, what
tensors compute and what is known at 0 are walks that say for themselves what names and calls mean.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}


class Walker:
    """Python's semantics of operators, branches, lists and lets over the values in `names`.

    A subclass gives meaning to calls, attributes and methods, and to names without a value: what
    it does not override is refused by `refuse`.
    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = dict(names)

    def __call__(self, node: Expression) -> Any:
        return self.compute(node)

    def compute(self, node: Expression) -> Any:
        """The value of one node; its operands are asked of the walker itself."""
        compute = _MEANINGS.get(type(node))
        return self.refuse(node) if compute is None else compute(self, node)

    def refuse(self, node: Expression) -> NoReturn:
        """Raises what says that an expression has no value here."""
        raise NotImplementedError(f"'{node}' cannot be evaluated")

    def name(self, node: nodes.Name) -> Any:
        if node.identifier in self.names:
            return self.names[node.identifier]
        if node.identifier in nodes.CONSTANTS:
            return nodes.CONSTANTS[node.identifier]
        return self.refuse(node)

    def call(self, node: nodes.Call) -> Any:
        return self.refuse(node)

    def method(self, node: nodes.Method) -> Any:
        return self.refuse(node)

    def attribute(self, node: nodes.Attribute) -> Any:
        return self.refuse(node)

    def unary(self, symbol: str, operand: Any) -> Any:
        return UNARY[symbol](operand)

    def binary(self, node: Expression, symbol: str, left: Any, right: Any) -> Any:
        return BINARY[symbol](left, right)

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        return COMPARE[symbol](left, right)

    def boolean(self, node: nodes.Boolean) -> Any:
        value: Any = None
        for operand in node.operands:
            value = self(operand)
            if bool(value) is (node.operator == "or"):
                break
        return value

    def conditional(self, node: nodes.Conditional) -> Any:
        return self(node.then if self(node.condition) else node.otherwise)

    def sequence(self, node: nodes.Sequence) -> Any:
        values = self.spread(node.items)
        return tuple(values) if node.is_tuple else values

    def index(self, node: Expression) -> Any:
        """What stands between the brackets of an Index."""
        if isinstance(node, nodes.Slice):
            bounds = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self(part) for part in bounds))
        if isinstance(node, nodes.Sequence) and node.is_tuple:
            parts: list[Any] = []
            for item in node.items:
                found = self.index(item.value if isinstance(item, nodes.Starred) else item)
                parts.extend(found if isinstance(item, nodes.Starred) else [found])
            return tuple(parts)
        return self(node)

    def spread(self, items: tuple[Expression, ...]) -> list[Any]:
        """Values of items, starred ones in place."""
        values: list[Any] = []
        for item in items:
            if isinstance(item, nodes.Starred):
                values.extend(self(item.value))
            else:
                values.append(self(item))
        return values

    def let(self, node: nodes.Let) -> Any:
        values = self.spread(node.values)
        outer = dict(self.names)
        self.names.update(zip(node.names, values, strict=True))
        try:
            return self(node.body)
        finally:
            self.names = outer

    def comprehension(self, node: nodes.Comprehension) -> list[Any]:
        values: list[Any] = []
        outer = {name: self.names[name] for name in node.names if name in self.names}
        for item in self(node.iterable):
            items = (item,) if len(node.names) == 1 else tuple(item)
            self.names.update(zip(node.names, items, strict=True))
            if node.condition is None or self(node.condition):
                element = self(node.element)
                values.extend(element if node.joins else [element])
            self.check_length(node, len(values))
        for name in node.names:
            self.names.pop(name, None)
        self.names.update(outer)
        return values

    def check_length(self, node: nodes.Comprehension, length: int) -> None:
        """May refuse a list that grows too long."""


_MEANINGS: dict[type[Expression], Callable[[Walker, Any], Any]] = {
    nodes.Name: lambda walk, node: walk.name(node),
    nodes.Number: lambda walk, node: node.value,
    nodes.String: lambda walk, node: node.value,
    nodes.NoneLiteral: lambda walk, node: None,
    nodes.EllipsisLiteral: lambda walk, node: ...,
    nodes.Sequence: lambda walk, node: walk.sequence(node),
    nodes.Unary: lambda walk, node: walk.unary(node.operator, walk(node.operand)),
    nodes.Binary: lambda walk, node: walk.binary(
        node, node.operator, walk(node.left), walk(node.right)
    ),
    nodes.Compare: lambda walk, node: walk.compare(
        node.operator, walk(node.left), walk(node.right)
    ),
    nodes.Boolean: lambda walk, node: walk.boolean(node),
    nodes.Conditional: lambda walk, node: walk.conditional(node),
    nodes.Attribute: lambda walk, node: walk.attribute(node),
    nodes.Index: lambda walk, node: walk(node.value)[walk.index(node.index)],
    nodes.Call: lambda walk, node: walk.call(node),
    nodes.Method: lambda walk, node: walk.method(node),
    nodes.Comprehension: lambda walk, node: walk.comprehension(node),
    nodes.Let: lambda walk, node: walk.let(node),
}
