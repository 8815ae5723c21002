"""Random operators: declared properties of what they draw, and that a seed decides it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import call, is_reachable, library_values, outputs, to_array
from operator_cases import Case, cases, is_random, property_holds

import flambeau
from flambeau.codegen.model.entries import Base

RANDOM = [c for c in cases() if is_random(c.operator) and is_reachable(c.operator)]


def draw(case: Case, **further: Any) -> dict[str, Any]:
    given = {**library_values(case.operator, case.values()), **further}
    results = outputs(case.operator, call(case.operator, given), given)
    return {name: to_array(tensor) for name, tensor in results.items()}


@pytest.mark.parametrize("case", RANDOM, ids=str)
def test_properties(case: Case) -> None:
    flambeau.manual_seed(1234)
    results = draw(case)
    assert case.operator.test.properties, "declares no property of what is drawn"
    for text in case.operator.test.properties:
        assert property_holds(case.operator, text, case.values(), results), f"not {text}"


@pytest.mark.parametrize("case", RANDOM, ids=str)
def test_seed(case: Case) -> None:
    """The same seed gives the same numbers, through the default generator or an own one."""
    flambeau.manual_seed(7)
    first, second = draw(case), draw(case)
    flambeau.manual_seed(7)
    again = draw(case)
    for name, value in first.items():
        np.testing.assert_array_equal(value, again[name])
    if any(a.type.base is Base.GENERATOR for a in case.operator.signature.arguments):
        own = flambeau.Generator().manual_seed(7)
        for name, value in draw(case, generator=own).items():
            np.testing.assert_array_equal(value, first[name])
    varied = [n for n, v in first.items() if v.size > 15 and len(np.unique(v)) > 1]
    for name in varied:
        assert not np.array_equal(first[name], second[name]), "two draws are the same"


@pytest.mark.parametrize("case", RANDOM, ids=str)
def test_threads(case: Case) -> None:
    """The numbers do not depend on how many threads draw them."""
    threads = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(1)
        flambeau.manual_seed(3)
        one = draw(case)
        flambeau.set_num_threads(4)
        flambeau.manual_seed(3)
        four = draw(case)
    finally:
        flambeau.set_num_threads(threads)
    for name, value in one.items():
        np.testing.assert_array_equal(value, four[name])
