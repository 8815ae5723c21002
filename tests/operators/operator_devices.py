"""Operators on another device, compared with the CPU: what the tests of backends share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from operator_calls import call, flat_tensors, library_values, outputs, to_array, to_tensor
from operator_cases import Case, arrays

import flambeau
from flambeau import Tensor
from flambeau.codegen.model.entries import Base
from flambeau.codegen.model.facts import differentiable_results

LIMITS = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5}
LIMITS |= {"float16": 2e-3, "bfloat16": 2e-2}


def on_cpu(value: Any) -> Tensor:
    """Row-major: random numbers follow the layout."""
    return to_tensor(np.array(value, order="C"))


def has_place(case: Case) -> bool:
    """Whether a call says where its results are: by a tensor, or a device."""
    operator = case.operator
    arguments = operator.signature.arguments
    return bool(operator.tensor_arguments) or any(a.type.base is Base.DEVICE for a in arguments)


def has_gradient(case: Case) -> bool:
    """Whether an operator gives new tensors that could carry a gradient, of numbers that could."""
    operator = case.operator
    return (
        not any(a.type.mutable for a in operator.signature.arguments)
        and any(array.dtype.kind in "fc" for _, array in arrays(operator, case.values()))
        and bool(differentiable_results(operator.signature, operator.dtypes))
    )


def is_lacking(device: str, error: NotImplementedError) -> bool:
    """Whether an error is about what the backend says that it lacks: a kernel, or complex numbers.

    Any other is a failure: what a backend has, or what it is composed of, has to run.
    """
    text = str(error)
    wanted = re.search(r'register_kernel\("([\w.]+)"', text)  # of what the operator is made of
    name = wanted[1] if wanted else text.partition(":")[0]
    lacks_complex = "complex" in text and ("no kernel converts" in text or "no kernel for" in text)
    return lacks_complex or flambeau.backends.kernels(device)[name] == "missing"


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
        try:
            found = self._results(case, self._on_device, **self._place(case))
        except NotImplementedError as error:
            assert is_lacking(self.device, error), error
            return
        self._compare(found, wanted, elements=not case.operator.test.arbitrary)

    def check_gradients(self, case: Case) -> None:
        """So are the gradients, or that an argument has none."""
        try:
            wanted = self._gradients(case, on_cpu)
        except NotImplementedError as refused:
            assert "derivative" in str(refused)
            with pytest.raises(NotImplementedError) as raised:
                self._gradients(case, self._on_device)
            assert str(raised.value) == str(refused) or is_lacking(self.device, raised.value)
            return
        try:
            found = self._gradients(case, self._on_device)
        except NotImplementedError as error:
            assert is_lacking(self.device, error), error
            return
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
        derivative = case.operator.derivative
        unknown = derivative.excluded if derivative is not None else ()
        leaves = [
            t
            for name, t in given.items()
            if isinstance(t, Tensor) and t.is_floating_point() and name not in unknown
        ]
        for leaf in leaves:
            leaf.requires_grad_()
        returned = flat_tensors(outputs(case.operator, call(case.operator, given), given))
        targets = [
            t.to_dense() if t.layout is not flambeau.strided else t
            for t in returned
            if t.requires_grad
        ]
        if not targets:
            return []  # constant, on both devices
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
