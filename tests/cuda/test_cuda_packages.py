"""Operators outside the library on a device: as on the CPU, their gradients too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import ops

pytestmark = pytest.mark.hardware  # nvcc compiles their kernels

EXAMPLE = Path(__file__).resolve().parents[2] / "python" / "examples" / "operators_package"


def load(family: str, *kernels: str) -> Any:
    files = [EXAMPLE / "kernels" / kernel for kernel in kernels]
    path = EXAMPLE / "declarations" / f"{family}.yaml"
    return ops.load(path, files, name="example_operators", cuda=True)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("softclip", [(33, 65)]), ("sum_of_squares", [(33, 65)]), ("tridiagonal_mv", [(3, 999), 999])],
)
def test_as_on_the_cpu(name: str, shapes: list[Any]) -> None:
    if name == "tridiagonal_mv":
        module = load("banded", "tridiagonal.simd.cpp", "tridiagonal.cu")
    else:
        module = load("curves")
    flambeau.manual_seed(0)
    arguments = [flambeau.randn(shape, dtype=flambeau.float64) for shape in shapes]
    found = {}
    for device in ("cpu", "cuda"):
        leaves = [a.to(device).detach().requires_grad_() for a in arguments]
        result = getattr(module, name)(*leaves)
        result.sum().backward()
        found[device] = [result.detach(), *(leaf.grad for leaf in leaves)]
    for on_cpu, on_device in zip(found["cpu"], found["cuda"], strict=True):
        np.testing.assert_allclose(on_device.cpu().numpy(), on_cpu.numpy(), rtol=1e-12, atol=1e-12)
