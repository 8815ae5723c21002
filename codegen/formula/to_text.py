"""Expression tree -> the text that parses to it, for messages and generated comments."""

from __future__ import annotations

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression

# Python's precedence, low to high.
_CONDITIONAL, _OR, _AND, _NOT, _COMPARE, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT = range(9)
_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(9, 14)
PRECEDENCE = {
    "|": _BIT_OR,
    "^": _BIT_XOR,
    "&": _BIT_AND,
    "<<": _SHIFT,
    ">>": _SHIFT,
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "//": _PRODUCT,
    "%": _PRODUCT,
    "@": _PRODUCT,
    "**": _POWER,
}


def to_text(expression: Expression) -> str:
    """Python syntax with the fewest parentheses."""
    return _print(expression)[0]


def _at_least(expression: Expression, precedence: int) -> str:
    text, own = _print(expression)
    return text if own >= precedence else f"({text})"


def _arguments(
    arguments: tuple[Expression, ...], keywords: tuple[tuple[str, Expression], ...] = ()
) -> str:
    parts = [to_text(a) for a in arguments] + [
        f"{name}={to_text(value)}" for name, value in keywords
    ]
    return ", ".join(parts)


def _print(node: Expression) -> tuple[str, int]:
    match node:
        case nodes.Name(identifier=identifier):
            return identifier, _ATOM
        case nodes.Number(value=value):
            text = _number(value)
            return text, _SIGN if text.startswith("-") else _ATOM
        case nodes.String(value=value):
            return repr(value), _ATOM
        case nodes.NoneLiteral():
            return "None", _ATOM
        case nodes.Call(function=function, arguments=arguments, keywords=keywords):
            return f"{function}({_arguments(arguments, keywords)})", _ATOM
        case nodes.Method(value=value, name=name, arguments=arguments, keywords=keywords):
            return f"{_at_least(value, _ATOM)}.{name}({_arguments(arguments, keywords)})", _ATOM
        case nodes.Unary(operator="not", operand=operand):
            return f"not {_at_least(operand, _NOT)}", _NOT
        case nodes.Unary(operator=operator, operand=operand):
            return f"{operator}{_at_least(operand, _SIGN)}", _SIGN
        case nodes.Binary(left=left, operator="**", right=right):
            return f"{_at_least(left, _ATOM)} ** {_at_least(right, _SIGN)}", _POWER
        case nodes.Binary(left=left, operator=operator, right=right):
            own = PRECEDENCE[operator]
            return f"{_at_least(left, own)} {operator} {_at_least(right, own + 1)}", own
        case nodes.Compare(left=left, operator=operator, right=right):
            return f"{_at_least(left, _BIT_OR)} {operator} {_at_least(right, _BIT_OR)}", _COMPARE
        case nodes.Boolean(operator=operator, operands=operands):
            own = _AND if operator == "and" else _OR
            return f" {operator} ".join(_at_least(o, own + 1) for o in operands), own
        case nodes.Conditional(condition=condition, then=then, otherwise=otherwise):
            text = (
                f"{_at_least(then, _OR)} if {_at_least(condition, _OR)} else {to_text(otherwise)}"
            )
            return text, _CONDITIONAL
        case nodes.Attribute(value=value, name=name):
            return f"{_at_least(value, _ATOM)}.{name}", _ATOM
        case nodes.Index(value=value, index=nodes.Sequence(items=items, is_tuple=True)) if items:
            return f"{_at_least(value, _ATOM)}[{_tuple(items)}]", _ATOM
        case nodes.Index(value=value, index=index):
            return f"{_at_least(value, _ATOM)}[{to_text(index)}]", _ATOM
        case nodes.Slice(lower=lower, upper=upper, step=step):
            parts = ["" if part is None else to_text(part) for part in (lower, upper)]
            return ":".join(parts + ([] if step is None else [to_text(step)])), _CONDITIONAL
        case nodes.Sequence(items=items, is_tuple=is_tuple):
            return f"({_tuple(items)})" if is_tuple else f"[{_arguments(items)}]", _ATOM
        case nodes.Comprehension():
            return f"[{_loops(node)}]", _ATOM
        case nodes.Let(names=names, values=values, body=body):
            return f"(lambda {', '.join(names)}: {to_text(body)})({_arguments(values)})", _ATOM
        case nodes.Starred(value=value):
            return f"*{_at_least(value, _BIT_OR)}", _CONDITIONAL
        case nodes.EllipsisLiteral():
            return "...", _ATOM
    raise AssertionError(f"unknown node {type(node).__name__}")


def _loops(node: nodes.Comprehension) -> str:
    """Loops that join their lists are written one after the other."""
    condition = "" if node.condition is None else f" if {_at_least(node.condition, _OR)}"
    loop = f"for {', '.join(node.names)} in {_at_least(node.iterable, _OR)}{condition}"
    if node.joins and isinstance(node.element, nodes.Comprehension):
        element, _, inner = _loops(node.element).partition(" for ")
        return f"{element} {loop} for {inner}"
    return f"{to_text(node.element)} {loop}"


def _tuple(items: tuple[Expression, ...]) -> str:
    return _arguments(items) + ("," if len(items) == 1 else "")


def _number(value: int | float | bool | complex) -> str:
    if isinstance(value, float) and value != value:
        return "nan"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, complex):
        return f"{value.imag!r}j" if value.real == 0 else f"({value.real!r} + {value.imag!r}j)"
    return repr(value)
