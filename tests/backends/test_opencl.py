"""The OpenCL backend: other processes, errors, what it brings, training."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from example_packages import install_example

import flambeau
from flambeau import multiprocessing, nn
from flambeau._command_line import main
from flambeau.codegen.model.entries import Kind
from flambeau.codegen.read.loader import library_declarations
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


def test_its_queue_is_waited_for(opencl: str) -> None:
    stream, event = flambeau.Stream(opencl), flambeau.Event(opencl, enable_timing=True)
    assert event.query()  # nothing was recorded
    x = flambeau.ones(512, 512, device=opencl)
    for _ in range(20):
        x = x @ x / 512
    assert stream.record_event(event) is event
    stream.wait_stream(flambeau.Stream(opencl))
    event.synchronize()
    assert event.query()
    x = x + 1
    event.record()
    limit = time.monotonic() + 60
    while not (event.query() and stream.query()):
        assert time.monotonic() < limit
    stream.synchronize()
    assert x.cpu().unique().tolist() == [2]
    with pytest.raises(RuntimeError, match="events of .* note no time"):
        event.elapsed_time(event)
    with pytest.raises(ValueError, match="is not of Stream"):
        event.record(flambeau.Stream("cpu"))


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
    declarations = library_declarations()
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


def test_the_demo_is_one_command(opencl: str, shared_folder: Path, tmp_path: Path) -> None:
    """`PYTHONPATH=$(flambeau ops build opencl_backend) flambeau demo --device opencl`."""
    folder = install_example("opencl_backend", shared_folder).folder
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = [sys.executable, "-m", "flambeau", "demo", "--device", opencl, "--epochs", "1"]
    command += ["--output", str(tmp_path / "digits.png")]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "Epoch 1/1" in done.stdout and (tmp_path / "digits.png").stat().st_size > 10_000
