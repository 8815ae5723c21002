"""Which formulas give the same bits whether integers are signed or not: the loops of one type serve
the other. Sums, products and comparisons for equality do; quotients, orders and wider results do
not. Whatever is not known to stays apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.to_cpp import ScalarType

# What elements are as large as, so that their sign is read.
_WHOLE = frozenset({ScalarType.INDEX, ScalarType.INT, ScalarType.BOOL, ScalarType.FLAG})
_TRUTH = frozenset({ScalarType.BOOL, ScalarType.FLAG})
_KNOWN = _WHOLE | {ScalarType.ELEMENT, ScalarType.NUMBER}
_LARGEST_OF_ALL = 127  # every integer type holds it


def ignores_sign(
    formula: Expression, symbols: Mapping[str, ScalarType], result: ScalarType
) -> bool:
    """Whether a formula, whose value becomes a `result`, reads no sign of elements."""
    kind = _kind(formula, symbols)
    if result in _WHOLE - _TRUTH:
        return kind in _WHOLE
    return kind is not None and (result is ScalarType.ELEMENT or result in _TRUTH)


def _kind(node: Expression, symbols: Mapping[str, ScalarType]) -> ScalarType | None:
    """What the value is; None where it depends on the sign of an element, or may."""
    match node:
        case nodes.Name(identifier=name):
            kind = symbols.get(name)
            return kind if kind in _KNOWN else None
        case nodes.Number(value=bool()):
            return ScalarType.FLAG
        case nodes.Number(value=int()):
            return ScalarType.INT
        case nodes.Unary(operator="not", operand=operand):
            return None if _kind(operand, symbols) is None else ScalarType.BOOL
        case nodes.Unary(operator="+" | "~", operand=operand):
            return _kind(operand, symbols)
        case nodes.Unary(operator="-", operand=operand):
            return _joined(_kind(operand, symbols), ScalarType.INT)
        case nodes.Binary(operator="+" | "-" | "*", left=left, right=right):
            joined = _joined(_kind(left, symbols), _kind(right, symbols))
            return ScalarType.INDEX if joined in _TRUTH else joined
        case nodes.Binary(operator="**", left=left, right=nodes.Number(value=2 | 3 | 4)):
            return _joined(_kind(left, symbols), ScalarType.ELEMENT)
        case nodes.Binary(operator="&" | "|" | "^", left=left, right=right):
            return _joined(_kind(left, symbols), _kind(right, symbols))
        case nodes.Compare(operator="==" | "!=", left=left, right=right):
            are_exact = _is_exact(left, symbols) and _is_exact(right, symbols)
            return ScalarType.BOOL if are_exact else None
        case nodes.Boolean(operands=operands):
            kinds = [_kind(o, symbols) for o in operands]
            return None if None in kinds else ScalarType.BOOL
        case nodes.Conditional(condition=condition, then=then, otherwise=otherwise):
            if _kind(condition, symbols) is None:
                return None
            return _joined(_kind(then, symbols), _kind(otherwise, symbols))
        case nodes.Call(function=name, arguments=arguments):
            function = load_functions().get(name)
            if function is not None and function.expands is not None:
                return _kind(function.expand(arguments), symbols)
    return None


def _joined(left: ScalarType | None, right: ScalarType | None) -> ScalarType | None:
    """What an operation computes in: elements, where one of its operands is of these."""
    if left is None or right is None:
        return None
    for kind in (ScalarType.ELEMENT, ScalarType.NUMBER, ScalarType.INDEX, ScalarType.INT):
        if kind in (left, right):
            return kind
    return ScalarType.BOOL


def _is_exact(node: Expression, symbols: Mapping[str, ScalarType]) -> bool:
    """Whether what is compared is an element as it is, or a number that means the same to all."""
    if isinstance(node, nodes.Number):
        return isinstance(node.value, int) and 0 <= node.value <= _LARGEST_OF_ALL
    return isinstance(node, nodes.Name) and symbols.get(node.identifier) in (
        ScalarType.ELEMENT,
        *_TRUTH,
    )
