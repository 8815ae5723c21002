"""Every declared operator on a backend's device, compared with the CPU: results and gradients.

What the backend says that it lacks may be lacking; what it has, or is composed of, has to agree.
"""

from __future__ import annotations

import pytest
from operator_calls import is_reachable
from operator_cases import Case, cases
from operator_devices import Comparison, has_gradient, has_place

CASES = [c for c in cases() if is_reachable(c.operator) and has_place(c)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_on_the_cpu(case: Case, device: str) -> None:
    Comparison(device).check_results(case)


@pytest.mark.parametrize("case", [c for c in CASES if has_gradient(c)], ids=str)
def test_gradients(case: Case, device: str) -> None:
    Comparison(device).check_gradients(case)
