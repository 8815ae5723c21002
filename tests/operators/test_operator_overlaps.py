"""Operators that write to a tensor while they read another one in the same memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from operator_calls import call, is_reachable, library_values, to_tensor
from operator_cases import Case, arrays, cases, is_random

import flambeau


def written_name(case: Case) -> str | None:
    """The only argument that is written to."""
    names = [a.name for a in case.operator.signature.arguments if a.type.mutable]
    return names[0] if len(names) == 1 else None


def sharing(case: Case) -> list[str]:
    """The arguments that may lie where the one lies that is written to, and have floats as it."""
    written = written_name(case)
    found = {argument.name: array for argument, array in arrays(case.operator, case.values())}
    if case.operator.layouts or written not in found or found[written].dtype.kind != "f":
        return []
    return [n for n, a in found.items() if n != written and a.dtype == found[written].dtype]


CASES = [
    case
    for case in cases()
    if is_reachable(case.operator) and not is_random(case.operator) and sharing(case)
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reads_what_was_there_before(case: Case) -> None:
    written = written_name(case)
    assert written is not None
    for read in sharing(case):
        results = []
        for apart in (True, False):
            values = library_values(case.operator, case.values(), to_tensor)
            shapes = {name: tuple(values[name].shape) for name in (written, read)}
            counts = {name: math.prod(shape) for name, shape in shapes.items()}
            memory = flambeau.from_numpy(
                np.random.default_rng(0).uniform(0.5, 2, max(counts.values()) + 1)
            ).to(values[written].dtype)
            places: dict[str, Any] = {
                name: memory[begin : begin + counts[name]].view(shapes[name])
                for name, begin in ((written, 1), (read, 0))
            }
            if apart:
                places[read] = places[read].clone()
            call(case.operator, {**values, **places})
            results.append(places[written].clone())
        assert flambeau.equal(*results), read
