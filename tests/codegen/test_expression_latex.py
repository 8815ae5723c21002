"""How formulas look in the docs."""

from __future__ import annotations

import pytest

from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.formula.to_latex import symbol, to_latex

GOLDEN = [
    ("self * sigmoid(self)", r"x\,\sigma(x)"),
    ("(a + b) ** 2 / sqrt(n)", r"\frac{\left(a + b\right)^{2}}{\sqrt{n}}"),
    ("-a - (b - c)", r"-a - \left(b - c\right)"),
    ("2 * 3 * a", r"2 \cdot 3\,a"),
    ("0.5 * pi * self", r"\tfrac{1}{2}\,\pi\,x"),
    ("log1p(exp(-abs(self)))", r"\ln(1 + e^{-\left|x\right|})"),
    ("expm1(self) * 2", r"\left(e^{x} - 1\right) \cdot 2"),
    ("sin(self) ** 2", r"\left(\sin x\right)^{2}"),
    (
        "self if self > 0 else alpha * expm1(self)",
        r"\begin{cases} x & \text{if } x > 0 \\ \alpha\,\left(e^{x} - 1\right) & \text{otherwise}"
        r" \end{cases}",
    ),
    (
        "where(self > 0 and a <= 1, self, 0)",
        r"\begin{cases} x & \text{if } x > 0 \text{ and } a \leq 1 \\ 0 & \text{otherwise}"
        r" \end{cases}",
    ),
    ("1e-5 + inf", r"1 \cdot 10^{-5} + \infty"),
    ("beta1 ** step", r"\beta_1^{\mathrm{step}}"),
    ("maximum(a, b) % c", r"\max(a, b) \bmod c"),
]


@pytest.mark.parametrize(("source", "expected"), GOLDEN)
def test_golden(source: str, expected: str) -> None:
    assert to_latex(parse_source(source), {"self": "x"}) == expected


@pytest.mark.parametrize("source", [source for source, _ in GOLDEN])
def test_braces_balance(source: str) -> None:
    text = to_latex(parse_source(source))
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("x", "x"), ("alpha", r"\alpha"), ("x12", "x_{12}"), ("exp_avg", r"\mathrm{exp\_avg}")],
)
def test_symbols(name: str, expected: str) -> None:
    assert symbol(name) == expected
