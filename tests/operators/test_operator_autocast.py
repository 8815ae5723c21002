"""What entries say of autocast is what happens, on operators of this library's CPU backend."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from operator_calls import (
    call,
    flat_tensors,
    is_reachable,
    library_values,
    outputs,
    to_array,
    to_tensor,
)
from operator_cases import Case, arrays, cases, is_random

import flambeau
from flambeau import Tensor, vmap
from flambeau.codegen.model.entries import Autocast, Operator, Policy


def policy(operator: Operator) -> Policy:
    """What the entry says of tensors on the CPU."""
    return (operator.autocast or Autocast()).cpu


CASES = [
    case
    for case in cases()
    if policy(case.operator) is not Policy.NONE
    and is_reachable(case.operator)
    and not is_random(case.operator)
    and case.index < 2
]


def in_dtype(value: Any, dtype: flambeau.dtype) -> Any:
    """The arguments with floating-point tensors in a dtype."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, list):
        return [in_dtype(item, dtype) for item in value]
    return value


def results(operator: Operator, values: dict[str, Any]) -> list[Tensor]:
    return flat_tensors(outputs(operator, call(operator, values), values))


def converted(case: Case, dtype: flambeau.dtype) -> dict[str, Any]:
    values = library_values(case.operator, case.values(), to_tensor)
    return {name: in_dtype(value, dtype) for name, value in values.items()}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_computes_in_the_dtype_of_its_policy(case: Case) -> None:
    """As if the arguments had been converted by hand."""
    operator = case.operator
    low, full = flambeau.bfloat16, flambeau.float32
    given, meant = {
        Policy.LOWER: (full, low),
        Policy.FLOAT32: (low, full),
        Policy.WIDEST: (low, low),
    }[policy(operator)]
    # Values that both dtypes hold.
    rounded = {n: in_dtype(v, low) for n, v in converted(case, full).items()}
    arguments = {n: in_dtype(v, given) for n, v in rounded.items()}
    by_hand = {n: in_dtype(v, meant) for n, v in rounded.items()}
    expected = results(operator, by_hand)
    with flambeau.autocast("cpu"):
        found = results(operator, arguments)
    assert [t.dtype for t in found] == [t.dtype for t in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(to_array(one), to_array(other))


def widened() -> list[Case]:
    return [c for c in CASES if policy(c.operator) is Policy.WIDEST and c.index == 0]


@pytest.mark.parametrize("case", widened(), ids=str)
def test_joins_in_the_widest_dtype(case: Case) -> None:
    values = converted(case, flambeau.bfloat16)
    name = next(a.name for a in case.operator.tensor_arguments)
    first = values[name]
    wide = [first[0].float(), *first[1:]] if isinstance(first, list) else first.float()
    with flambeau.autocast("cpu"):
        found = results(case.operator, {**values, name: wide})
    assert {t.dtype for t in found} == {flambeau.float32}


BATCHES = [
    case
    for case in CASES
    if case.index == 0 and not case.operator.layouts and arrays(case.operator, case.values())
]


@pytest.mark.parametrize("case", BATCHES, ids=str)
def test_holds_for_batches(case: Case) -> None:
    """Also where a batch is computed by the formula, whose operators have policies of their own,
    and where what was done for a batch before is done again.
    """
    operator = case.operator
    given = flambeau.float32 if policy(operator) is Policy.LOWER else flambeau.bfloat16
    values = {n: in_dtype(v, given) for n, v in converted(case, flambeau.bfloat16).items()}
    names = {argument.name for argument, _ in arrays(operator, case.values())}
    batched = {n: twice(values[n]) for n in names}

    def compute(tensors: dict[str, Any]) -> list[Tensor]:
        return results(operator, {n: tensors.get(n, v) for n, v in values.items()})

    with flambeau.autocast("cpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are computed slice by slice
        expected = results(operator, values)
        for _ in range(3):
            found = vmap(compute)(batched)
            assert [t.dtype for t in found] == [t.dtype for t in expected]
            for one, other in zip(found, expected, strict=True):
                close = {"rtol": 0.05, "atol": 0.05} if is_rounded(other) else {"rtol": 1e-4}
                for each in to_array(one):
                    np.testing.assert_allclose(each, to_array(other), **close)


def twice(value: Any) -> Any:
    """A batch of one slice, given two times."""
    if isinstance(value, list):
        return [twice(item) for item in value]
    return flambeau.stack([value, value])


def is_rounded(tensor: Tensor) -> bool:
    return tensor.dtype is flambeau.bfloat16
