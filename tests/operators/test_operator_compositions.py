"""Operators with a composition, run through it on the CPU in place of their kernels: a backend that
has no kernel gets these results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from operator_calls import call, is_reachable, library_values, outputs
from operator_cases import Case, NoReferenceError, cases, declarations, expected, is_random
from operator_compare import difference, floating, tolerance

import flambeau
from flambeau import _C
from flambeau.codegen.model.entries import Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.derivation import Derivations
from flambeau.codegen.tools.primitives import COMPUTED, is_composed

DERIVATIONS = Derivations(declarations(), OperatorIndex(declarations().operators))


def has_both(operator: Operator) -> bool:
    """Whether there is a kernel of the CPU's own beside the composition."""
    if operator.kind not in COMPUTED or not is_composed(operator, DERIVATIONS):
        return False
    return operator.kind is Kind.POINTWISE or ("cpu" in operator.kernels and not operator.on_host)


def prefer(operator: Operator, composition: bool) -> bool:
    """Chooses between kernel and composition; false where there is no composition."""
    prefix = f"{operator.package}." if operator.package else ""
    return _C._prefer_composition(f"{prefix}{operator.identifier}", composition)


COMPOSED = [
    c
    for c in cases()
    if has_both(c.operator) and is_reachable(c.operator) and not is_random(c.operator)
]


@pytest.fixture
def composed(request: pytest.FixtureRequest) -> Iterator[Case]:
    """The case, while its operator runs through its composition."""
    case: Case = request.param
    assert prefer(case.operator, True)
    try:
        yield case
    finally:
        prefer(case.operator, False)


@pytest.mark.parametrize("composed", COMPOSED, ids=str, indirect=True)
def test_reference(composed: Case) -> None:
    operator, values = composed.operator, composed.values()
    given = library_values(operator, values)
    found = list(outputs(operator, call(operator, given), given).values())
    prefer(operator, False)
    wanted = _wanted(composed, values)
    wrong = difference(operator, found, wanted, tolerance(operator, *floating(found)))
    assert wrong is None, wrong


def _wanted(case: Case, values: dict[str, Any]) -> list[Any]:
    """NumPy's results, or where it has none those of the kernel."""
    try:
        return expected(case.operator, values)
    except NoReferenceError:
        given = library_values(case.operator, values)
        results = outputs(case.operator, call(case.operator, given), given)
        return [_numpy(result) for result in results.values()]


def _numpy(result: Any) -> Any:
    return result.numpy() if isinstance(result, flambeau.Tensor) else [r.numpy() for r in result]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [1, 2, 1000, 20_001])
def test_sorting_is_stable_and_takes_memory_of_a_row(size: int, descending: bool) -> None:
    """Pairs of all elements would be 400 million."""
    x = flambeau.arange(2 * size).remainder(7).reshape(2, size).float()
    x[0, ::5] = flambeau.nan
    keys = np.nan_to_num(x.numpy(), nan=np.inf)  # NaN counts as the largest value
    wanted = np.argsort(-keys if descending else keys, axis=1, kind="stable")
    (argsort,) = declarations().by_name["argsort"]
    assert prefer(argsort, True)
    try:
        flambeau.reset_peak_memory_stats()
        before = flambeau.memory_stats()["allocated_bytes"]
        found = x.argsort(1, descending)
        taken = flambeau.memory_stats()["peak_allocated_bytes"] - before
    finally:
        prefer(argsort, False)
    assert np.array_equal(found.numpy(), wanted)
    assert size < 1000 or taken < 30 * found.nbytes


def test_origins() -> None:
    """What runs where is told."""
    origins = flambeau.backends.kernels("cpu")
    assert (origins["add"], origins["zeros"]) == ("own", "composed")
    assert flambeau.backends.kernels("meta")["bmm"] == "missing"
    assert not _C._prefer_composition("argwhere", True), "a kernel on the host is no composition"
