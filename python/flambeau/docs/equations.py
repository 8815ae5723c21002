"""Equations of docstrings, which are written as Python, as LaTeX.

    h[t] = (1 - z[t]) * n[t] + z[t] * h[t-1]

Brackets are subscripts, and so is what follows an underscore; `@` is a product of matrices, written
side by side, and `*` one of numbers or of elements.
"""

from __future__ import annotations

import ast
import re

from flambeau.codegen.formula.to_latex import symbol

_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(5)
_OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: (" + ", _SUM),
    ast.Sub: (" - ", _SUM),
    ast.Mult: (r" \, ", _PRODUCT),
    ast.MatMult: (r" \, ", _PRODUCT),
}
_AROUND = {
    "sqrt": (r"\sqrt{", "}"),
    "floor": (r"\lfloor ", r" \rfloor"),
    "ceil": (r"\lceil ", r" \rceil"),
    "abs": (r"\left|", r"\right|"),
}


def equation_latex(line: str) -> str:
    """An equation as LaTeX.

    Args:
        line: `name = formula`.

    Raises:
        ValueError: if it is no equation, or has something that has no sign here.
    """
    left, equals, right = line.strip().partition(" = ")
    try:
        sides = [ast.parse(side, mode="eval").body for side in (left, right)]
    except SyntaxError as error:
        raise ValueError(f"this is no equation: {line.strip()!r}") from error
    return equals.join(_show(side)[0] for side in sides)


def _show(node: ast.expr) -> tuple[str, int]:
    """LaTeX and how tightly it binds."""
    match node:
        case ast.Name(name):
            return _name(name), _ATOM
        case ast.Constant(value) if value is ...:
            return r"\ldots", _ATOM
        case ast.Constant(value):
            return str(value), _ATOM
        case ast.Subscript():
            return _subscripted(node), _ATOM
        case ast.Attribute(value, "T"):
            return f"{_within(value, _ATOM)}^{{\\top}}", _POWER
        case ast.UnaryOp(ast.USub(), operand):
            return f"-{_within(operand, _PRODUCT)}", _SIGN
        case ast.BinOp(left, ast.Div(), right):
            return rf"\frac{{{_show(left)[0]}}}{{{_show(right)[0]}}}", _PRODUCT
        case ast.BinOp(left, ast.Pow(), right):
            return f"{_within(left, _ATOM)}^{{{_show(right)[0]}}}", _POWER
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            return _product_or_sum(left, operator, right)
        case ast.Call(function, arguments, []):
            return _call(function, arguments), _ATOM
        case _:
            raise ValueError(f"{ast.unparse(node)!r} has no sign in equations")


def _within(node: ast.expr, least: int) -> str:
    """In parentheses where it binds less tightly."""
    text, strength = _show(node)
    return text if strength >= least else rf"\left({text}\right)"


def _product_or_sum(left: ast.expr, operator: ast.operator, right: ast.expr) -> tuple[str, int]:
    sign, strength = _OPERATORS[type(operator)]
    # What is subtracted keeps its parentheses around sums.
    after = _within(right, strength + isinstance(operator, ast.Sub))
    if strength == _PRODUCT and after[:1].isdigit():
        sign = r" \cdot "
    return f"{_within(left, strength)}{sign}{after}", strength


def _call(function: ast.expr, arguments: list[ast.expr]) -> str:
    inner = ", ".join(_show(a)[0] for a in arguments)
    if isinstance(function, ast.Name) and function.id in _AROUND:
        before, after = _AROUND[function.id]
        return f"{before}{inner}{after}"
    return rf"{_show(function)[0]}\left({inner}\right)"


def _subscripted(node: ast.Subscript) -> str:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    below = [_show(part)[0].replace(" ", "") for part in parts]
    if not isinstance(node.value, ast.Name):
        return f"{_within(node.value, _ATOM)}_{{{', '.join(below)}}}"
    stem, under = _stem(node.value.id)
    return f"{stem}_{{{', '.join([*under, *below])}}}"


def _name(name: str) -> str:
    stem, under = _stem(name)
    return f"{stem}_{{{under[0]}}}" if under else stem


def _stem(name: str) -> tuple[str, list[str]]:
    """A name without its subscript, and that: `W_ih` and `beta1` have one, `m_hat` has a hat, and
    other words stand upright.
    """
    stem, _, under = name.partition("_")
    if under == "hat":
        return rf"\hat{{{symbol(stem)}}}", []
    if under == "inf":
        return symbol(stem), [r"\infty"]
    if len(stem) == 1 and under:
        return stem, [under if len(under) <= 2 else rf"\mathrm{{{under}}}"]
    digits = re.search(r"(?<=[a-z])\d$", name)
    if digits and symbol(name[:-1]).startswith("\\") and "mathrm" not in symbol(name[:-1]):
        return symbol(name[:-1]), [digits[0]]
    return symbol(name), []
