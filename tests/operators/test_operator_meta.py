"""On the meta device every operator gives the shape and dtype that it gives on the CPU."""

from __future__ import annotations

import pytest
from operator_calls import (
    Form,
    is_reachable,
    library_values,
    primary_form,
    run_flat,
    to_tensor,
)
from operator_cases import Case, cases, declarations

from flambeau.codegen.model.entries import Base, Operator
from flambeau.codegen.plan.reach import Reach

META = "meta"
REACH = Reach(declarations())


def _device_argument(operator: Operator) -> str | None:
    """The argument that says where the result is to be."""
    return next((a.name for a in operator.signature.arguments if a.type.base is Base.DEVICE), None)


CASES = [
    c
    for c in cases()
    if is_reachable(c.operator)
    # How many places a sparse tensor holds is data.
    and not c.operator.layouts
    and primary_form(c.operator) is not Form.LIST
    and (c.operator.tensor_arguments or _device_argument(c.operator))
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_meta(case: Case) -> None:
    operator = case.operator
    values = case.values()
    on_cpu = run_flat(operator, library_values(operator, values))
    given = library_values(operator, values, lambda array: to_tensor(array).to(META))
    name = _device_argument(operator)
    if name is not None and not operator.tensor_arguments:
        given[name] = META
    if META not in REACH.backends(operator):
        with pytest.raises(RuntimeError, match=META):
            run_flat(operator, given)
        return
    on_meta = run_flat(operator, given)
    assert len(on_meta) == len(on_cpu)
    for found, wanted in zip(on_meta, on_cpu, strict=True):
        assert found.is_meta
        assert found.shape == wanted.shape
        assert found.dtype is wanted.dtype
