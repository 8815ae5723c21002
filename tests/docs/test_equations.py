"""Equations of docstrings as LaTeX; layers and the operators that compute them."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.docs.computed_by import operators_of
from flambeau.docs.docstrings import to_markdown
from flambeau.docs.equations import equation_latex
from flambeau.docs.mathml import mathml
from flambeau.docs.topics import by_topic


@pytest.mark.parametrize(
    ("line", "latex"),
    [
        ("y = a - (b - c)", r"y = a - \left(b - c\right)"),
        ("y = (a - b) - c", r"y = a - b - c"),
        ("y = a * (b + c)", r"y = a \, \left(b + c\right)"),
        ("y = a * 2", r"y = a \cdot 2"),
        ("y = W_ih @ x", r"y = W_{ih} \, x"),
        ("y = -a ** 2", r"y = -a^{2}"),
        ("y = (-a) ** 2", r"y = \left(-a\right)^{2}"),
        ("y = x.T / sqrt(n + 1)", r"y = \frac{x^{\top}}{\sqrt{n + 1}}"),
        ("h[t] = h[t-1]", r"h_{t} = h_{t-1}"),
        ("W_Q[i] = beta2[t]", r"W_{Q, i} = \beta_{2, t}"),
        ("m_hat = m[t] / (1 - beta1**t)", r"\hat{m} = \frac{m_{t}}{1 - \beta_1^{t}}"),
        ("rho_inf = floor(x)", r"\rho_{\infty} = \lfloor x \rfloor"),
        ("L_out = kernel_size[0]", r"L_{\mathrm{out}} = \mathrm{kernel\_size}_{0}"),
        ("gain(relu) = f(a, ..., b)", r"\mathrm{gain}\left(\mathrm{relu}\right) = "
         r"f\left(a, \ldots, b\right)"),
    ],
)  # fmt: skip
def test_equation(line: str, latex: str) -> None:
    assert equation_latex(line) == latex.replace(r"\beta_1^", r"\beta_{1}^")


@pytest.mark.parametrize("line", ["y", "y = ", "y = a and b", "y = f(x=1)", "y = [a]", "= 1"])
def test_what_is_no_equation(line: str) -> None:
    with pytest.raises(ValueError, match=r"equation"):
        equation_latex(line)


def test_equations_of_a_docstring_are_aligned() -> None:
    text = "Steps.\n\nEquations:\n    a = b + 1\n    c = a\n"
    assert to_markdown(text) == (
        "Steps.\n\n$$\n\\begin{aligned}\na &= b + 1 \\\\\nc &= a\n\\end{aligned}\n$$\n"
    )


def test_columns_of_equations_are_a_table() -> None:
    found = mathml("\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}", "block")
    assert found.count("<mtr>") == 2 and found.count("<mtd ") == 4
    assert "&<" not in found
    with pytest.raises(ValueError, match="unknown"):
        mathml("a &= b")


def test_operators_of_layers() -> None:
    """Found in the code of forward, or in what a base class is told to call."""
    nn = flambeau.nn
    pages = {id(nn.functional.relu): "relu", id(nn.functional.conv2d): "conv2d"}
    pages |= {id(flambeau.sigmoid): "sigmoid", id(nn.functional.mse_loss): "mse_loss"}
    assert operators_of(nn.ReLU, pages) == ["relu"]
    assert operators_of(nn.Conv2d, pages) == ["conv2d"]
    assert operators_of(nn.Sigmoid, pages) == ["sigmoid"]
    assert operators_of(nn.MSELoss, pages) == ["mse_loss"]
    assert operators_of(nn.ModuleList, pages) == operators_of(int, pages) == []


def test_classes_by_topic() -> None:
    names = ["Softmax", "Conv1d", "ReLU", "Module"]
    assert by_topic("flambeau.nn", flambeau.nn, names) == {
        "Modules and containers": ["Module"],
        "Convolutions": ["Conv1d"],
        "Activations": ["Softmax", "ReLU"],
    }
    assert by_topic("flambeau.optim", flambeau.optim, ["Adam"]) == {"Classes": ["Adam"]}
    assert by_topic("flambeau.optim", flambeau.optim, []) == {}
    with pytest.raises(LookupError, match="no topic"):
        by_topic("flambeau.nn", flambeau, ["Size"])
