"""Examples print what the references give.

A statement that NumPy cannot follow, such as a random or an in-place one, ends the check of its
example: the generated tests run all of it.
"""

from __future__ import annotations

import ast
import doctest
from typing import Any

import numpy as np

from flambeau.codegen.check.examples import example_of
from flambeau.codegen.check.formulas import bind, called_value
from flambeau.codegen.check.report import Report
from flambeau.codegen.check.trial import Library
from flambeau.codegen.check.values import worst
from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.evaluate import EvaluationError, Evaluator, MissingError
from flambeau.codegen.formula.parse import Language, parse_source
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.text.source import DeclarationError, Text

_ROOT = "flambeau"
_PRINTED = 6e-5  # results are printed with four decimals


def check_example_values(report: Report, library: Library) -> None:
    """Report an output that is not what the references give."""
    example = example_of(report.operator)
    if example is None:
        return
    try:
        statements = doctest.DocTestParser().get_examples(example.value)
    except ValueError:
        return  # told by the structural check
    evaluator = _Evaluator(library)
    for statement in statements:
        try:
            found = evaluator.run(statement.source)
            wanted = _printed(statement.want)
        except (EvaluationError, DeclarationError, SyntaxError):
            return
        if isinstance(wanted, np.ndarray) and isinstance(found, np.ndarray | np.generic | float):
            _compare(report, example, statement, found, wanted)


def _compare(
    report: Report, example: Text, statement: doctest.Example, found: Any, wanted: Any
) -> None:
    shape = list(np.shape(found))
    if shape != list(wanted.shape):
        problem = f"a tensor of shape {list(wanted.shape)} where the reference gives {shape}"
    elif not np.allclose(found, wanted, rtol=2 * _PRINTED, atol=_PRINTED, equal_nan=True):
        got, expected = worst(wanted, found)
        problem = f"{got} where the reference gives {expected}"
    else:
        return
    lines = example.value.split("\n")
    line = statement.lineno + statement.source.count("\n")
    start = sum(len(part) + 1 for part in lines[:line]) + statement.indent
    place = example.at(start, len(lines[line]) - statement.indent if line < len(lines) else 1)
    report.at(place, f"the example prints {problem}", aside=True)


def _printed(want: str) -> Any:
    """The array that an output shows; something else where it shows none."""
    if not want.startswith("tensor("):
        return None
    tensor = {"tensor": lambda values, **_: np.array(values)}
    tree = parse_source(" ".join(want.split()), Language.REFERENCE)
    return _Outputs({}, tensor)(tree)


class _Outputs(Evaluator):
    def attribute(self, node: nodes.Attribute) -> Any:
        return None  # dtype=flambeau.int64


class _Evaluator(Evaluator):
    """Calls operators by their references, as functions and as methods."""

    def __init__(self, library: Library) -> None:
        super().__init__({}, {"float": float, "int": int})
        self._library = library

    def run(self, source: str) -> Any:
        """The value of a statement: an expression, or an assignment to a name."""
        statement = ast.parse(source).body[0]
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = self.evaluated(source.partition("=")[2])
            self.names[statement.targets[0].id] = value
            return None
        return self.evaluated(source)

    def evaluated(self, source: str) -> Any:
        """The value of an expression."""
        with np.errstate(all="ignore"):
            return self(parse_source(source.strip(), Language.REFERENCE))

    def attribute(self, node: nodes.Attribute) -> Any:
        raise MissingError(node, f"'{node.name}' has no NumPy equivalent")

    def method(self, node: nodes.Method) -> Any:
        arguments = self.spread(node.arguments)
        keywords = {name: self(value) for name, value in node.keywords}
        namespace = _namespace(node.value)
        if namespace is None:
            arguments = [self(node.value), *arguments]
        elif node.name == "tensor" and len(arguments) == 1 and not keywords:
            return np.array(arguments[0])
        operators = self._library.operators

        def is_elsewhere(operator: Operator) -> bool:
            return namespace not in {operator.namespace, *(p.namespace for p in operator.also_in)}

        for operator in sorted(operators.overloads(node.name), key=is_elsewhere):
            bound = bind(operator, tuple(arguments), keywords)
            if bound is not None:
                return called_value(operator, bound, self._library.table, operators, node)
        raise MissingError(node, f"'{node.name}' has no NumPy equivalent")


def _namespace(node: nodes.Expression) -> str | None:
    """Of `flambeau.nn.functional` the part behind the root; None of what is no module."""
    names: list[str] = []
    while isinstance(node, nodes.Attribute):
        names.insert(0, node.name)
        node = node.value
    is_root = isinstance(node, nodes.Name) and node.identifier == _ROOT
    return ".".join(names) if is_root else None
