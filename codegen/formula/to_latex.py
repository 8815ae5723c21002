"""Formulas as LaTeX, for the docs: elementwise, so without indices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from string import Template

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import FunctionTable, load_functions
from flambeau.codegen.formula.nodes import Expression

_CASES, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(10)
_GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "phi",
        "chi",
        "psi",
        "omega",
        "pi",
    ]
)
_CONSTANTS = {"inf": r"\infty", "nan": r"\mathrm{nan}", "pi": r"\pi"}
_COMPARISONS = {
    "==": "=",
    "!=": r"\neq",
    "<": "<",
    "<=": r"\leq",
    ">": ">",
    ">=": r"\geq",
    "is": "=",
    "is not": r"\neq",
    "in": r"\in",
    "not in": r"\notin",
}
_BITS = {"&": r"\mathbin{\&}", "|": r"\mathbin{|}", "^": r"\oplus", "<<": r"\ll", ">>": r"\gg"}
# Literals that are a known constant, however they were written.
_KNOWN = {
    math.pi: r"\pi",
    math.e: "e",
    math.log(2): r"\ln 2",
    math.log(10): r"\ln 10",
    math.sqrt(2): r"\sqrt{2}",
    math.sqrt(0.5): r"\tfrac{1}{\sqrt{2}}",
    math.sqrt(2 / math.pi): r"\sqrt{\tfrac{2}{\pi}}",
    2 / math.sqrt(math.pi): r"\tfrac{2}{\sqrt{\pi}}",
    math.sqrt(math.pi) / 2: r"\tfrac{\sqrt{\pi}}{2}",
    1 / math.sqrt(2 * math.pi): r"\tfrac{1}{\sqrt{2\pi}}",
    0.5: r"\tfrac{1}{2}",
    0.25: r"\tfrac{1}{4}",
}


def to_latex(
    expression: Expression,
    symbols: Mapping[str, str] | None = None,
    functions: FunctionTable | None = None,
) -> str:
    """LaTeX of a formula. `symbols`: how names are written, such as {"self": "x"}."""
    return _Printer(symbols or {}, functions or load_functions()).show(expression)[0]


def symbol(name: str) -> str:
    r"""A name as LaTeX: `beta1` is \beta_1, `exp_avg` is set upright, one letter stays."""
    base = name.rstrip("0123456789")
    index = name[len(base) :]
    stem = base.rstrip("_")
    if stem in _GREEK:
        text = f"\\{stem}"
    elif len(stem) == 1:
        text = stem
    else:
        text = r"\mathrm{" + stem.replace("_", r"\_") + "}"
    return f"{text}_{{{index}}}" if len(index) > 1 else f"{text}_{index}" if index else text


class _Printer:
    def __init__(self, symbols: Mapping[str, str], functions: FunctionTable) -> None:
        self.symbols = symbols
        self.functions = functions

    def show(self, node: Expression) -> tuple[str, int]:
        match node:
            case nodes.Name(identifier=identifier):
                return self.name(identifier), _ATOM
            case nodes.Number(value=value):
                return _number(value)
            case nodes.String(value=value):
                return rf"\text{{{value}}}", _ATOM
            case nodes.NoneLiteral():
                return r"\text{None}", _ATOM
            case nodes.Unary(operator=operator, operand=operand):
                return self.unary(operator, operand)
            case nodes.Binary(left=left, operator=operator, right=right):
                return self.binary(left, operator, right)
            case nodes.Compare(left=left, operator=operator, right=right):
                text = f"{self.at_least(left, _SUM)} {_COMPARISONS[operator]} "
                return text + self.at_least(right, _SUM), _COMPARE
            case nodes.Boolean(operator=operator, operands=operands):
                own, word = (_AND, "and") if operator == "and" else (_OR, "or")
                parts = [self.at_least(o, own + 1) for o in operands]
                return rf" \text{{ {word} }} ".join(parts), own
            case nodes.Conditional():
                return self.cases(node), _CASES
            case nodes.Call():
                return self.call(node)
            case nodes.Attribute(value=value, name=name):
                return rf"\mathrm{{{name}}}({self.show(value)[0]})", _ATOM
            case nodes.Index(value=value, index=index):
                return rf"{self.at_least(value, _ATOM)}_{{{self.show(index)[0]}}}", _ATOM
            case nodes.Slice():
                bounds = ["" if b is None else self.show(b)[0] for b in (node.lower, node.upper)]
                return ":".join(bounds), _CASES
            case nodes.Sequence(items=items):
                return rf"({', '.join(self.show(i)[0] for i in items)})", _ATOM
        return r"\texttt{" + str(node).replace("_", r"\_") + "}", _ATOM

    def name(self, identifier: str) -> str:
        if identifier in self.symbols:
            return self.symbols[identifier]
        return _CONSTANTS.get(identifier) or symbol(identifier)

    def at_least(self, node: Expression, precedence: int) -> str:
        text, own = self.show(node)
        return text if own >= precedence else rf"\left({text}\right)"

    def unary(self, operator: str, operand: Expression) -> tuple[str, int]:
        if operator == "not":
            return rf"\text{{not }} {self.at_least(operand, _NOT)}", _NOT
        if operator == "~":
            return rf"\lnot {self.at_least(operand, _POWER)}", _SIGN
        return f"{operator}{self.at_least(operand, _PRODUCT)}", _SIGN

    def binary(self, left: Expression, operator: str, right: Expression) -> tuple[str, int]:
        match operator:
            case "+" | "-":
                text = f"{self.at_least(left, _SUM)} {operator} {self.at_least(right, _PRODUCT)}"
                return text, _SUM
            case "*":
                return self.product(left, right), _PRODUCT
            case "/":
                return rf"\frac{{{self.show(left)[0]}}}{{{self.show(right)[0]}}}", _POWER
            case "**":
                return f"{self.at_least(left, _ATOM)}^{{{self.show(right)[0]}}}", _POWER
            case "@":
                return f"{self.at_least(left, _PRODUCT)} {self.at_least(right, _SIGN)}", _PRODUCT
            case "//":
                quotient = rf"\frac{{{self.show(left)[0]}}}{{{self.show(right)[0]}}}"
                return rf"\left\lfloor {quotient} \right\rfloor", _ATOM
            case "%":
                text = rf"{self.at_least(left, _PRODUCT)} \bmod {self.at_least(right, _SIGN)}"
                return text, _PRODUCT
        bit = _BITS[operator]
        return f"{self.at_least(left, _SUM)} {bit} {self.at_least(right, _SUM)}", _COMPARE

    def product(self, left: Expression, right: Expression) -> str:
        a, b = self.at_least(left, _PRODUCT), self.at_least(right, _SIGN)
        # A number after something, or next to a number, would read as one number.
        needs_sign = b[0].isdigit() or b[0] == "-" or (a[-1].isdigit() and b.startswith(r"\tfrac"))
        return rf"{a} \cdot {b}" if needs_sign else rf"{a}\,{b}"

    def cases(self, node: Expression) -> str:
        rows = []
        while isinstance(node, nodes.Conditional):
            rows.append(f"{self.show(node.then)[0]} & \\text{{if }} {self.show(node.condition)[0]}")
            node = node.otherwise
        rows.append(f"{self.show(node)[0]} & \\text{{otherwise}}")
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def call(self, node: nodes.Call) -> tuple[str, int]:
        function = self.functions.get(node.function)
        if function is None or node.keywords or len(node.arguments) != function.arity:
            arguments = ", ".join(self.show(a)[0] for a in node.arguments)
            name = node.function.replace("_", r"\_")
            return rf"\operatorname{{{name}}}\left({arguments}\right)", _ATOM
        if isinstance(function.expands, nodes.Conditional):
            return self.cases(function.expand(node.arguments)), _CASES
        values: dict[str, str] = {}
        for parameter, argument in zip(function.parameters, node.arguments, strict=True):
            values[parameter.name] = self.show(argument)[0]
            values[f"{parameter.name}_"] = self.at_least(argument, _ATOM)
        text = Template(function.latex).substitute(values)
        # `\sin x` needs parentheses as a base; `\sigma(x)` and `\sqrt{x}` do not bind loosely.
        closed = function.latex.rstrip().endswith((")", "}", r"\right|", r"\rfloor", r"\rceil"))
        if "^" in function.latex:
            return text, _POWER if "- 1" not in function.latex else _SUM
        return text, _ATOM if closed else _SIGN


def _number(value: int | float | bool | complex) -> tuple[str, int]:
    if isinstance(value, bool):
        return rf"\text{{{value}}}", _ATOM
    if isinstance(value, complex):
        return rf"{_number(value.imag)[0]}\,i" if value.imag != 1 else "i", _PRODUCT
    if isinstance(value, int):
        return str(value), _ATOM if value >= 0 else _SIGN
    for known, text in _KNOWN.items():
        if math.isclose(abs(value), known, rel_tol=1e-14):
            return (text, _ATOM) if value > 0 else (f"-{text}", _SIGN)
    if not math.isfinite(value):
        text = r"\mathrm{nan}" if math.isnan(value) else r"\infty"
        return (text, _ATOM) if value > 0 or math.isnan(value) else (f"-{text}", _SIGN)
    text = f"{int(value)}" if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"
    mantissa, exponent, power = text.partition("e")
    if exponent:
        return rf"{mantissa} \cdot 10^{{{int(power)}}}", _PRODUCT
    return text, _ATOM if value >= 0 else _SIGN
