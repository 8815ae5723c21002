"""Every declared operator on OpenCL, compared with the CPU: results and gradients."""

from __future__ import annotations

import pytest
from operator_calls import is_reachable
from operator_cases import Case, cases
from operator_devices import Comparison, has_gradient, has_place

CASES = [c for c in cases() if is_reachable(c.operator) and has_place(c)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_on_the_cpu(case: Case, opencl: str) -> None:
    Comparison(opencl).check_results(case)


@pytest.mark.parametrize("case", [c for c in CASES if has_gradient(c)], ids=str)
def test_gradients(case: Case, opencl: str) -> None:
    Comparison(opencl).check_gradients(case)
