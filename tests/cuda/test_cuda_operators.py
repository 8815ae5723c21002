"""Every declared operator that has a CUDA kernel, on its samples, compared with the CPU."""

from __future__ import annotations

import pytest
from operator_calls import is_reachable
from operator_cases import Case, cases
from operator_devices import Comparison, has_gradient

from flambeau.codegen.model.entries import Kind

COMPARISON = Comparison("cuda")
CASES = [
    c
    for c in cases()
    if is_reachable(c.operator) and c.operator.kind in (Kind.POINTWISE, Kind.REDUCTION)
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_on_the_cpu(case: Case) -> None:
    COMPARISON.check_results(case)


@pytest.mark.parametrize("case", [c for c in CASES if has_gradient(c)], ids=str)
def test_gradients(case: Case) -> None:
    """The fused backward kernels, for operators whose first result can be differentiated."""
    COMPARISON.check_gradients(case)
