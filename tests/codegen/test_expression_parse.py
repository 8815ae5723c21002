"""Text of formulas -> trees -> text."""

from __future__ import annotations

import pytest

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Name, Number, free_names, substitute, walk
from flambeau.codegen.formula.parse import (
    MAXIMUM_DEPTH,
    MAXIMUM_LENGTH,
    Language,
    parse_expression,
    parse_source,
)
from flambeau.codegen.text.source import DeclarationError, Span, Text


@pytest.mark.parametrize(
    "source",
    [
        "a + b * c ** -2",
        "-a ** 2",
        "(-a) ** 2",
        "(a + b) * (c - (d - e))",
        "a / (b / c)",
        "not (a and b) or c",
        "a if b < c and c <= d else -f(x, y=1)[1:, ::2]",
        "(a if b else c) + 1",
        "a.shape[2:] + [1] * (a.dim - 2)",
        "[f(t) for t in tensors]",
        "x is not None and x not in ['mean', 'sum']",
        "1 - 0.5j",
        "a & b | c ^ ~d << 2",
    ],
)
def test_text_of_a_tree_parses_to_the_same_tree(source: str) -> None:
    tree = parse_source(source)
    assert parse_source(str(tree)) == tree
    assert str(tree) == source


@pytest.mark.parametrize(
    "source", ["x.T[..., None]", "[a for b in c for a in b]", "np.add(*x, out=y)", "x.sum(axis=0)"]
)
def test_references_may_say_more(source: str) -> None:
    assert str(parse_source(source, Language.REFERENCE)) == source
    with pytest.raises(DeclarationError):
        parse_source(source)


@pytest.mark.parametrize(
    ("source", "message", "marked"),
    [
        ("a + lambda: 3", "'lambda' is not expected", None),
        ("a + (lambda: 3)", "a lambda cannot be used", "lambda: 3"),
        ("f(a.b())", "only functions can be called", "a.b"),
        ("1 + a.__class__", "underscore", "a.__class__"),
        ("g(a, *b)", "'*' cannot be used", "*b"),
        ("a + {1}", "a set cannot be used", "{1}"),
        ("99999999999999999999999 * x", "more than 64 bits", "99999999999999999999999"),
        ("a  # note", "comments do not belong", "#"),
        ("f(a=1, a=2)", "given twice", "a=2"),
        ("", "an empty formula", None),
        ("a b", "'b' is not expected here", None),
        ("'é' + (yield)", "'yield' cannot be used", "yield"),
    ],
)
def test_mistakes_are_pointed_at(source: str, message: str, marked: str | None) -> None:
    column = 11
    text = Text(source, Span("file.yaml", 3, column, max(len(source), 1)))
    with pytest.raises(DeclarationError) as caught:
        parse_expression(text)
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.span.line == 3
    if marked is not None:
        start = diagnostic.span.column - column
        assert source[start : start + diagnostic.span.length] == marked


@pytest.mark.parametrize(
    "source",
    [
        "(" * 300,
        "-" * (MAXIMUM_LENGTH - 1) + "x",
        "+".join(["a"] * (MAXIMUM_LENGTH // 2)),
        "f(" * 150 + "x" + ")" * 150,
        "x" * (MAXIMUM_LENGTH + 1),
        "[" * 150 + "]" * 150,
        "a" + "[0]" * 900,
        "\x00",
    ],
)
def test_hostile_text_is_refused(source: str) -> None:
    with pytest.raises(DeclarationError):
        parse_source(source)


def test_depth_is_bounded_from_below_too() -> None:
    depth = MAXIMUM_DEPTH - 2
    tree = parse_source("+".join(["a"] * depth))
    assert sum(1 for _ in walk(tree)) == 2 * depth - 1


def test_trees_compare_by_structure() -> None:
    first, second = parse_source("a + 1"), parse_source("   a   +   1")
    assert first == second
    assert hash(first) == hash(second)
    assert Number(1) != Number(1.0)
    assert Number(True) != Number(1)
    assert Number(0.0) != Number(-0.0)
    assert Number(float("nan")) == Number(float("nan"))


def test_names_and_substitution() -> None:
    tree = parse_source("f(a, b=a.shape) + inf * [a + i for i in n][0]")
    assert free_names(tree) == {"a", "n"}
    assert free_names(tree, constants=True) == {"a", "n", "inf"}
    replaced = substitute(parse_source("a * a + b"), {"a": parse_source("x + 1")})
    assert str(replaced) == "(x + 1) * (x + 1) + b"


def test_lets_that_double_each_other_are_refused() -> None:
    def doubled(times: int) -> nodes.Expression:
        tree: nodes.Expression = Name("a")
        for _ in range(times):
            tree = substitute(parse_source("s * s"), {"s": tree})
        return tree

    assert doubled(5).size == 63
    with pytest.raises(DeclarationError, match="grows"):
        doubled(60)
