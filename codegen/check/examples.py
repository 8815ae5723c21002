"""The example of an entry is a doctest whose every statement is Python."""

from __future__ import annotations

import ast
import doctest
import re

from flambeau.codegen.check.report import Report
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.text.source import Text
from flambeau.codegen.text.tree import Mapping

_PROMPT = len(">>> ")


def check_example(report: Report) -> None:
    """Report an example that is not a doctest."""
    example = example_of(report.operator)
    if example is None:
        return
    try:
        found = doctest.DocTestParser().get_examples(example.value)
    except ValueError as error:
        line = re.search(r"line (\d+)", str(error))
        start = _offset(example.value, int(line[1]) - 1 if line else 0)
        problem = re.sub(r"^line \d+ of the docstring for [^ ]* ", "the line ", str(error))
        report.at(example.at(start), f"the example is not a doctest: {problem}", aside=True)
        return
    if not found:
        hint = "start its statements with '>>> '"
        report.at(example.span, "the example has no statement", hint, aside=True)
    for statement in found:
        _check_statement(statement, example, report)


def example_of(operator: Operator) -> Text | None:
    """The text of the entry's example."""
    doc = operator.entry.get("doc") if operator.entry is not None else None
    example = doc.get("example") if isinstance(doc, Mapping) else None
    return example if isinstance(example, Text) else None


def _check_statement(statement: doctest.Example, example: Text, report: Report) -> None:
    try:
        ast.parse(statement.source)
    except SyntaxError as error:
        line = statement.lineno + (error.lineno or 1) - 1
        column = statement.indent + _PROMPT + max((error.offset or 1) - 1, 0)
        start = _offset(example.value, line) + column
        length = (error.end_offset or 0) - (error.offset or 0)
        place = example.at(start, max(length, 1))
        report.at(place, f"the example does not parse: {error.msg}", aside=True)


def _offset(text: str, line: int) -> int:
    """Where a line begins."""
    return sum(len(part) + 1 for part in text.split("\n")[:line])
