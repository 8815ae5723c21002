"""The tables of functions in the guide: every function has its line, and the examples are true."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen.formula.evaluate import UnavailableError
from flambeau.codegen.formula.functions import Function, load_functions
from flambeau.codegen.formula.to_numpy import to_numpy
from flambeau.codegen.read.loader import library_declarations
from flambeau.docs.formula_functions import function_tables, helper_table
from flambeau.func._formulas import Evaluator

TABLE = load_functions()
FUNCTIONS = [*TABLE.values(), *TABLE.shape.values()]
WITH_EXAMPLE = [f for f in FUNCTIONS if f.level != "random"]


def test_every_function_has_one_line() -> None:
    rows = re.findall(r"^\| `(\w+)\(", function_tables(), re.MULTILINE)
    assert sorted(rows) == sorted(f.name for f in FUNCTIONS)


def test_every_table_stands_under_a_heading() -> None:
    sections = re.split(r"^### ", function_tables(), flags=re.MULTILINE)
    assert not sections[0] and len(sections) > 8
    assert all(s.count("| :-- |") and "\n| `" in s for s in sections[1:])


@pytest.mark.parametrize("function", WITH_EXAMPLE, ids=lambda f: f"{f.level}-{f.name}")
def test_examples_are_true(function: Function) -> None:
    """Of shapes as Python computes them for batches, of elements in NumPy too."""
    assert function.example is not None
    formula, value = function.example
    evaluate = Evaluator({}, _no_operator, lambda name: False)
    assert re.match(rf"{function.name}\(", str(formula))
    _compare(evaluate(formula), evaluate(value))
    if function.level == "element":
        try:
            found = to_numpy(formula)({})
        except UnavailableError as error:
            pytest.skip(str(error))
        _compare(np.asarray(found).item(), evaluate(value))


def _no_operator(name: str, args: Any, kwargs: Any) -> Any:
    raise AssertionError(f"{name} is no function of formulas")


def _compare(found: Any, expected: Any) -> None:
    if isinstance(found, float | complex) and isinstance(expected, float | complex | int):
        close = abs(found - expected) <= 5e-5
        assert close or (math.isnan(abs(found)) and math.isnan(abs(expected)))
        return
    assert found == expected
    assert isinstance(found, flambeau.dtype) or type(found) is type(expected)


def test_helpers_are_operators_that_formulas_alone_call() -> None:
    library = library_declarations()
    row = r"^\| `(\w+)\([^|]*\| \[\w+\]\([^|]*\) \| \S"
    rows = re.findall(row, helper_table(library), re.MULTILINE)
    internal = {o.name for o in library.operators if o.internal}
    assert len(rows) > 20 and set(rows) <= internal
    assert {"expand_reduced", "shifted", "reversed"} <= set(rows)
