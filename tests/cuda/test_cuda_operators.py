"""Every declared operator that has a CUDA kernel, on its samples, compared with the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
from operator_cases import Case, cases

import flambeau
from flambeau.codegen.model import Base, Kind

CASES = [
    c
    for c in cases()
    if is_reachable(c.operator) and c.operator.kind in (Kind.POINTWISE, Kind.REDUCTION)
]
LIMITS = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5}
LIMITS |= {"float16": 2e-3, "bfloat16": 2e-2}


def on_cpu(value: Any) -> Any:
    """Row-major, as copies to another device are: random numbers follow the layout."""
    return to_tensor(np.array(value, order="C"))


def on_device(value: Any) -> Any:
    return on_cpu(value).to("cuda")


def results(case: Case, convert: Any, **further: Any) -> list[Any]:
    given = {**library_values(case.operator, case.values(), convert), **further}
    return flat_tensors(outputs(case.operator, call(case.operator, given), given))


@contextmanager
def kernels_needed() -> Iterator[None]:
    """Operators whose kernels, or those of their gradients, are not written yet are skipped."""
    try:
        yield
    except NotImplementedError as error:
        pytest.skip(str(error))


def compare(found: list[Any], wanted: list[Any], factor: float = 1) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.device.type == "cuda"
        assert (one.dtype, tuple(one.shape)) == (other.dtype, tuple(other.shape))
        limit = LIMITS.get(other.dtype.name, 0) * factor
        np.testing.assert_allclose(
            to_array(one.cpu()), to_array(other), rtol=limit, atol=limit, equal_nan=True
        )


def creates(case: Case) -> dict[str, Any]:
    """Operators without a tensor argument are told where to put their result."""
    arguments = case.operator.signature.arguments
    has_tensor = any(a.type.is_tensor and a.name in case.sample for a in arguments)
    has_device = any(a.type.base is Base.DEVICE for a in arguments)
    return {"device": "cuda"} if has_device and not has_tensor else {}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_on_the_cpu(case: Case) -> None:
    flambeau.manual_seed(5)
    wanted = results(case, on_cpu)
    flambeau.manual_seed(5)
    with kernels_needed():
        compare(results(case, on_device, **creates(case)), wanted)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients(case: Case) -> None:
    """The fused backward kernels, for operators whose first result can be differentiated."""
    gradients = []
    for convert in (on_cpu, on_device):
        flambeau.manual_seed(5)
        given = library_values(case.operator, case.values(), convert)
        if any(a.type.mutable for a in case.operator.signature.arguments):
            pytest.skip("changes its arguments")
        leaves = [
            t for t in given.values() if isinstance(t, flambeau.Tensor) and t.is_floating_point()
        ]
        for leaf in leaves:
            leaf.requires_grad_()
        with kernels_needed():
            returned = flat_tensors(outputs(case.operator, call(case.operator, given), given))
        targets = [t for t in returned if t.requires_grad]
        if not leaves or not targets:
            pytest.skip("has no gradient")
        seeds = [flambeau.ones_like(t) for t in targets]
        with kernels_needed():
            found = flambeau.autograd.grad(targets, leaves, seeds, allow_unused=True)
        gradients.append([g for g in found if g is not None])
    compare(gradients[1], gradients[0], factor=10)
