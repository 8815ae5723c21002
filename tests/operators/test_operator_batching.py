"""Every operator for a batch: what `vmap` gives is the stack of what each slice gives."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from operator_calls import call, is_reachable, library_values, outputs, primary_form, to_array
from operator_cases import Case, Values, arrays, cases, evaluate_sample, is_random
from operator_compare import difference, floating, tolerance

import flambeau
from flambeau import Tensor, vmap
from flambeau.codegen.formula.nodes import Call, walk
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.plan.python_signature import Form

SAMPLES = 3  # per operator
CASES = [
    case
    for case in cases()
    if is_reachable(case.operator)
    and not case.operator.layouts  # there are no batches of sparse tensors
    and not is_random(case.operator)
    and not case.operator.test.arbitrary
    and primary_form(case.operator) is not Form.LIST
    and case.index < SAMPLES
    and arrays(case.operator, case.values())
]


def slices_of(case: Case) -> list[Values]:
    """Arguments of two slices: other numbers of the same shapes."""
    other = evaluate_sample(case.operator, case.sample, f"{case.index} of another slice")
    return [library_values(case.operator, values) for values in (case.values(), other)]


def of_slices(operator: Operator, slices: list[Values], names: list[str]) -> list[Any] | None:
    """The results of one slice after the other, stacked; arguments not named are those of the first
    slice. None where the shapes depend on elements.
    """
    rows = []
    for values in slices:
        given = {n: (v if n in names else slices[0][n]) for n, v in values.items()}
        given = {n: copied(v) for n, v in given.items()}
        rows.append(list(outputs(operator, call(operator, given), given).values()))
    if len({str([shape_of(value) for value in row]) for row in rows}) > 1:
        return None
    return [stacked(column) for column in zip(*rows, strict=True)]


def shape_of(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [shape_of(part) for part in value]
    return list(value.shape) if isinstance(value, Tensor) else value


def copied(value: Any) -> Any:
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value.clone() if isinstance(value, Tensor) else value


def stacked(column: Any) -> Any:
    first = column[0]
    if isinstance(first, list | tuple):
        return [stacked(part) for part in zip(*column, strict=True)]
    return flambeau.stack(list(column)) if isinstance(first, Tensor) else first


def of_batch(operator: Operator, slices: list[Values], names: list[str]) -> list[Any]:
    """The results of all slices at once, as they are computed from the third call on: what was done
    for other elements is done for these.
    """
    for _ in range(2):
        of_batch_once(operator, slices[::-1], names)
    return of_batch_once(operator, slices, names)


def of_batch_once(operator: Operator, slices: list[Values], names: list[str]) -> list[Any]:
    rest = {n: v for n, v in slices[0].items() if n not in names}
    batched = {n: stacked([values[n] for values in slices]) for n in names}

    def compute(given: Values) -> Any:
        everything = {n: given.get(n, copied(rest.get(n))) for n in slices[0]}
        return list(outputs(operator, call(operator, everything), everything).values())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are computed slice by slice
        return list(vmap(compute)(batched))


def batched_names(operator: Operator, values: Values) -> list[list[str]]:
    """Which arguments have a batch: all tensors, and one that is written into or comes first."""
    tensors = [n for n, v in values.items() if holds_tensors(v)]
    first = [a.name for a in operator.signature.arguments if a.type.mutable and a.name in tensors]
    return [tensors] if len(tensors) < 2 else [tensors, first or tensors[:1]]


def holds_tensors(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, Tensor) for item in value)
    return isinstance(value, Tensor)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_batch_is_a_stack_of_slices(case: Case) -> None:
    operator, slices = case.operator, slices_of(case)
    for names in batched_names(operator, slices[0]):
        wanted = of_slices(operator, slices, names)
        if wanted is None:
            with pytest.raises(RuntimeError, match="vmap"):
                of_batch(operator, slices, names)
            continue
        try:
            found = of_batch(operator, slices, names)
        except RuntimeError as error:
            # The body makes of elements how long the result is.
            assert "reads elements" in str(error) and calls_item(operator), error
            continue
        target = [to_arrays(value) for value in wanted]
        wrong = difference(operator, found, target, tolerance(operator, *floating(found)))
        assert wrong is None, f"{operator.full_name}, a batch of {names}: {wrong}"


def calls_item(operator: Operator) -> bool:
    values = (operator.body, *(value for _, value in operator.body_lets))
    nodes = (node for value in values if value is not None for node in walk(value))
    return any(isinstance(node, Call) and node.function == "item" for node in nodes)


def to_arrays(value: Any) -> Any:
    return [to_arrays(v) for v in value] if isinstance(value, list) else to_array(value)
