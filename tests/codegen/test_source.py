"""Located text: every character of a YAML scalar is found again in the file."""

from __future__ import annotations

import pytest

from flambeau.codegen.text.excerpt import remember_source
from flambeau.codegen.text.source import (
    DeclarationError,
    Diagnostic,
    Diagnostics,
    Span,
    Text,
    did_you_mean,
)
from flambeau.codegen.text.tree import Mapping, Node, Sequence, parse_yaml

FILE = "scalars.yaml"


def parse(text: str) -> tuple[Node | None, list[Diagnostic]]:
    diagnostics = Diagnostics()
    return parse_yaml(FILE, text, diagnostics), diagnostics.sorted()


def value_of(text: str, key: str = "k") -> Text:
    node, found = parse(text)
    assert not found
    assert isinstance(node, Mapping)
    value = node.get(key)
    assert isinstance(value, Text)
    return value


@pytest.mark.parametrize(
    "text",
    [
        "k: plain text",
        "k: 'single quoted'",
        'k: "double quoted"',
        "k: 'it''s quoted'",
        'k: "tab \\t, unicode \\u0041, quote \\" and more"',
        'k: "folded \\\n    without a space"',
        "k: |\n  first\n\n    indented\n  last\n",
        "k: |2\n    two more\n  last\n",
        "k: |-  # kept out\n  stripped\nother: 1\n",
        "k: >\n  folded\n  lines\n\n  and a paragraph\n",
        "k: plain\n  over two lines",
        'k: "quoted\n\n  over three lines"',
    ],
)
def test_every_letter_is_found_in_the_file(text: str) -> None:
    value = value_of(text)
    lines = text.split("\n")
    letters = [i for i, c in enumerate(value.value) if c.isalnum() and c != "A"]
    assert letters
    for offset in letters:
        span = value.at(offset)
        assert lines[span.line - 1][span.column - 1] == value.value[offset]


def test_values_are_not_interpreted() -> None:
    node, _ = parse("{a: 1e-5, b: on, c: 010, d: 2020-01-01, e: null, f: 'null'}")
    assert isinstance(node, Mapping)
    values = [v for _, v in node.entries if isinstance(v, Text)]
    assert [v.value for v in values] == ["1e-5", "on", "010", "2020-01-01", "null", "null"]
    assert [v.plain for v in values] == [True] * 5 + [False]


def test_slices_keep_their_place() -> None:
    value = value_of("k: |\n  a = b;\n  cc = d\n")
    part = value.slice(7, 14).strip()
    assert part.value == "cc = d"
    assert part.span == Span(FILE, 3, 3, 6)
    assert part.slice(5, 6).span == Span(FILE, 3, 8, 1)


def test_a_span_ends_with_its_line() -> None:
    value = value_of("k: |\n  first line\n  second\n")
    assert value.at(6, 12) == Span(FILE, 2, 9, 4)


def test_diagnostic_shows_line_caret_and_hint() -> None:
    remember_source("a.yaml", "one\n  expr: fooo(x)\n")
    diagnostic = Diagnostic(Span("a.yaml", 2, 9, 4), "unknown 'fooo'", "did you mean 'foo'?")
    assert diagnostic.render().split("\n") == [
        "a.yaml:2:9: error: unknown 'fooo'",
        "    expr: fooo(x)",
        "          ^~~~",
        "  hint: did you mean 'foo'?",
    ]


def test_a_marker_stays_on_the_line() -> None:
    remember_source("a.yaml", "ab")
    lines = Diagnostic(Span("a.yaml", 1, 2, 50), "long").render().split("\n")
    assert lines[2] == "   ^"


def test_diagnostics_are_sorted_and_told_once() -> None:
    diagnostics = Diagnostics()
    for line in (3, 1, 3):
        diagnostics.error(Span("a", line, 1), "wrong")
    with diagnostics.collecting():
        raise DeclarationError.at(Span("a", 2, 1), "raised")
    assert [d.span.line for d in diagnostics] == [1, 2, 3]
    with pytest.raises(DeclarationError, match="a:1:1: error: wrong") as error:
        diagnostics.raise_if_any()
    assert len(error.value.diagnostics) == 3


def test_did_you_mean() -> None:
    assert did_you_mean("sigmoit", ["sigmoid", "sin"]) == "did you mean 'sigmoid'?"
    assert did_you_mean("zzz", ["sigmoid"]) is None


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key 'a'"),
        ("- a: &x 1\n- b: *x\n", 1, 6, "anchor '&x'"),
        ("- a: &x 1\n- b: *x\n", 2, 6, "alias '*x'"),
        ("a: !!int 3\n", 1, 4, "tag '!!int'"),
        ("a:\n\t- b\n", 2, 1, "a tab in the indentation"),
        ("a: [1, 2\nb: 3\n", 2, 2, "expected ',' or ']', found ':'"),
        ("a: b: c\n", 1, 5, "a ':' where no key can stand"),
        ("a: 'open\n", 1, 4, "the quote that starts here is not closed"),
        ("a: 1\n---\nb: 2\n", 2, 1, "a second YAML document"),
        ("a: x\u2028y\n", 1, 5, "character U+2028 is not allowed"),
        ("a: \x07\n", 1, 4, "character U+0007 is not allowed"),
        ("[1]: 2\n", 1, 1, "a key must be a name"),
    ],
)
def test_yaml_mistakes_have_a_place(text: str, line: int, column: int, message: str) -> None:
    _, found = parse(text)
    matching = [d for d in found if message in d.message]
    assert matching, found
    assert (matching[0].span.line, matching[0].span.column) == (line, column)


def test_an_unknown_alias_is_a_diagnostic_too() -> None:
    _, found = parse("a: *nowhere\n")
    assert [d.span.line for d in found] == [1]


@pytest.mark.parametrize("text", ["", "# a comment\n", "---\n"])
def test_an_empty_file_is_nothing(text: str) -> None:
    assert parse(text) == (None, [])


def test_windows_line_ends() -> None:
    node, found = parse("- a: 1\r\n- b: 22\r\n")
    assert not found
    assert isinstance(node, Sequence)
    assert node.items[1].span == Span(FILE, 2, 3, 1)


@pytest.mark.parametrize("text", ["[" * 5000, "[" * 5000 + "]" * 5000, "a:\n" + " - " * 99])
def test_deep_nesting_is_no_traceback(text: str) -> None:
    _, found = parse(text)
    assert len(found) == 1
