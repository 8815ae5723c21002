"""The OpenCL backend: other processes, errors, what it brings, training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import multiprocessing, nn
from flambeau._command_line import main
from flambeau.codegen.model.entries import Kind
from flambeau.codegen.read.loader import load_declarations
from flambeau.codegen.tools.primitives import kernels_of


def test_other_processes(opencl: str) -> None:
    """A copy would arrive, which is not what is promised."""
    tensor = flambeau.ones(3, device=opencl)
    queue = multiprocessing.get_context("fork").SimpleQueue()
    for sent in (
        tensor,
        nn.Parameter(tensor),
        tensor.untyped_storage(),
        [nn.Linear(2, 2).to(opencl)],
    ):
        with pytest.raises(RuntimeError, match=r"memory is on opencl:0, .* send cpu\(\) of it"):
            queue.put(sent)
    with pytest.raises(RuntimeError, match="memory is on opencl:0; only that of the CPU"):
        tensor.share_memory_()
    queue.put(tensor.cpu())
    assert queue.get().tolist() == [1, 1, 1]
    queue.put(flambeau.empty(2, 3, device="meta"))
    arrived = queue.get()
    assert (arrived.shape, arrived.device.type) == ((2, 3), "meta")


def test_errors(opencl: str) -> None:
    message = "digamma: no kernel for device opencl; it has kernels for cpu; a backend"
    with pytest.raises(NotImplementedError, match=message):
        flambeau.tensor([1.0, 2.0], device=opencl).digamma()
    with pytest.raises(NotImplementedError, match=r"add: no kernel for dtype flambeau.complex64"):
        flambeau.zeros(2, dtype=flambeau.complex64, device=opencl) + 1
    with pytest.raises(RuntimeError, match="expected all tensors on one device"):
        flambeau.ones(2, device=opencl) + flambeau.ones(2)
    with pytest.raises(IndexError, match="gather.*out of range for dim 0 of size 3"):
        flambeau.ones(3, device=opencl).gather(0, flambeau.tensor([3], device=opencl))


def test_kernels_are_counted(opencl: str) -> None:
    """What the backend brings by hand is little; the rest is generated or composed. Formulas that
    OpenCL C has no functions for are all that is missing.
    """
    origins = flambeau.backends.kernels(opencl)
    assert (origins["add"], origins["conv2d"]) == ("own", "composed")
    assert (origins["argwhere"], origins["digamma"]) == ("host", "missing")
    declarations = load_declarations()
    pointwise = {
        name
        for operator in declarations.operators
        if operator.kind is Kind.POINTWISE
        for name in kernels_of(operator, declarations)
    }
    missing = {name for name, origin in origins.items() if origin == "missing"}
    assert missing <= pointwise and len(missing) < 10


def test_training_as_on_the_cpu(
    opencl: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {}
    threads = flambeau.get_num_threads()
    for device in ("cpu", opencl):
        options = ["--epochs", "2", "--device", device, "--output", str(tmp_path / "digits.png")]
        try:
            assert main(["demo", *options]) == 0
        finally:
            flambeau.set_num_threads(threads)
        epochs = [li for li in capsys.readouterr().out.splitlines() if li.startswith("Epoch")]
        lines[device] = [float(line.split("loss ")[1].split()[0]) for line in epochs]
    # Rounding differs, and grows from step to step.
    np.testing.assert_allclose(lines[opencl], lines["cpu"], rtol=0.1)
