"""Operators on another device, compared with the CPU: what the tests of backends share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from operator_calls import call, flat_tensors, library_values, outputs, to_array, to_tensor
from operator_cases import Case

import flambeau
from flambeau import Tensor
from flambeau.codegen.model import Base

LIMITS = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5}
LIMITS |= {"float16": 2e-3, "bfloat16": 2e-2}


def on_cpu(value: Any) -> Tensor:
    """Row-major: random numbers follow the layout."""
    return to_tensor(np.array(value, order="C"))


@contextmanager
def kernels_needed() -> Iterator[None]:
    """Operators whose kernels, or those of their gradients, are not written yet are skipped."""
    try:
        yield
    except NotImplementedError as error:
        pytest.skip(str(error))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs cases on a device and on the CPU. `strided`: whether samples keep their layout."""

    device: str
    strided: bool = False

    def check_results(self, case: Case) -> None:
        """The results of both are the same."""
        flambeau.manual_seed(5)
        wanted = self._results(case, on_cpu)
        flambeau.manual_seed(5)
        with kernels_needed():
            found = self._results(case, self._on_device, **self._place(case))
        self._compare(found, wanted, elements=not case.operator.test.arbitrary)

    def check_gradients(self, case: Case) -> None:
        """So are the gradients, where the first results have any."""
        if any(a.type.mutable for a in case.operator.signature.arguments):
            pytest.skip("changes its arguments")
        wanted = self._gradients(case, on_cpu)
        with kernels_needed():
            found = self._gradients(case, self._on_device)
        self._compare(found, wanted, factor=10)

    def _on_device(self, value: Any) -> Tensor:
        return (to_tensor(value) if self.strided else on_cpu(value)).to(self.device)

    def _place(self, case: Case) -> dict[str, Any]:
        """Operators without a tensor argument are told where to put their result."""
        arguments = case.operator.signature.arguments
        has_tensor = any(a.type.is_tensor and a.name in case.sample for a in arguments)
        has_device = any(a.type.base is Base.DEVICE for a in arguments)
        return {"device": self.device} if has_device and not has_tensor else {}

    def _results(self, case: Case, convert: Callable[[Any], Tensor], **further: Any) -> list[Any]:
        given = {**library_values(case.operator, case.values(), convert), **further}
        return flat_tensors(outputs(case.operator, call(case.operator, given), given))

    def _gradients(self, case: Case, convert: Callable[[Any], Tensor]) -> list[Any]:
        flambeau.manual_seed(5)
        given = library_values(case.operator, case.values(), convert)
        leaves = [t for t in given.values() if isinstance(t, Tensor) and t.is_floating_point()]
        for leaf in leaves:
            leaf.requires_grad_()
        returned = flat_tensors(outputs(case.operator, call(case.operator, given), given))
        targets = [t for t in returned if t.requires_grad]
        if not leaves or not targets:
            pytest.skip("has no gradient")
        seeds = [flambeau.ones_like(t) for t in targets]
        found = flambeau.autograd.grad(targets, leaves, seeds, allow_unused=True)
        return [g for g in found if g is not None]

    def _compare(
        self, found: list[Any], wanted: list[Any], factor: float = 1, elements: bool = True
    ) -> None:
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert one.device.type == self.device
            assert (one.dtype, tuple(one.shape)) == (other.dtype, tuple(other.shape))
            if not elements:
                continue
            limit = LIMITS.get(other.dtype.name, 0) * factor
            np.testing.assert_allclose(
                to_array(one.cpu()), to_array(other), rtol=limit, atol=limit, equal_nan=True
            )
