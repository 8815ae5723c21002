"""The OpenCL backend: memory, copies, random numbers, errors, training."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import multiprocessing, nn
from flambeau._command_line import main
from flambeau.codegen.model.entries import Kind
from flambeau.codegen.read.loader import load_declarations
from flambeau.codegen.tools.primitives import kernels_of


def test_copies(opencl: str) -> None:
    base = flambeau.arange(24, dtype=flambeau.float32).reshape(2, 3, 4)
    for tensor in (base, base.transpose(0, 2), base[:, ::2], base[0].t(), flambeau.ones(0, 3)):
        there = tensor.to(opencl)
        assert there.device == flambeau.device(opencl, 0)
        assert there.shape == tensor.shape
        np.testing.assert_array_equal(there.cpu().numpy(), tensor.numpy())
        converted = there.to(flambeau.int64)
        np.testing.assert_array_equal(converted.cpu().numpy(), tensor.numpy().astype(np.int64))
    assert base.transpose(0, 2).to(opencl).stride() == base.transpose(0, 2).stride()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "bfloat16", "complex64"])
def test_dtypes_survive(dtype: str, opencl: str) -> None:
    tensor = flambeau.tensor([0, 1, 1, 0]).to(getattr(flambeau, dtype))
    assert tensor.to(opencl)[1:].cpu().tolist() == tensor[1:].tolist()


def test_assignment_across_devices(opencl: str) -> None:
    there = flambeau.zeros(2, 3, device=opencl)
    there[1] = flambeau.tensor([1.0, 2.0, 3.0])
    there[:, 0].copy_(flambeau.tensor([7, 8]))
    assert there.tolist() == [[7.0, 0.0, 0.0], [8.0, 2.0, 3.0]]
    here = flambeau.zeros(3)
    here.copy_(there[1])
    assert here.tolist() == [8.0, 2.0, 3.0]


def test_gradient_returns_to_its_device(opencl: str) -> None:
    source = flambeau.ones(3, requires_grad=True)
    flambeau.zeros(3, device=opencl).copy_(source * 2).sum().backward()
    assert source.grad is not None
    assert (source.grad.device.type, source.grad.tolist()) == ("cpu", [2.0, 2.0, 2.0])


def test_printing(opencl: str) -> None:
    text = repr(flambeau.tensor([1.0, 2.5], device=opencl))
    assert text == f"tensor([1.0000, 2.5000], device='{opencl}:0')"


def test_random_numbers_are_those_of_the_cpu(opencl: str) -> None:
    for draw in (
        lambda device: flambeau.rand(1001, device=device),
        lambda device: flambeau.randn(1001, device=device, dtype=flambeau.float64),
        lambda device: flambeau.randint(-5, 1000, (1001,), device=device),
        lambda device: flambeau.empty(1001, device=device).exponential_(),
    ):
        flambeau.manual_seed(3)
        wanted = draw("cpu")
        flambeau.manual_seed(3)
        found = draw(opencl).cpu()
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_state_moves_between_devices(opencl: str) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).to(opencl)
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    other.load_state_dict(model.state_dict())
    assert all(p.device.type == "cpu" for p in other.parameters())
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert one.cpu().tolist() == two.tolist()
    model.load_state_dict(other.state_dict())
    assert all(p.device.type == opencl for p in model.parameters())


def test_saving(opencl: str) -> None:
    tensor = flambeau.arange(6, device=opencl).reshape(2, 3).t()
    again = pickle.loads(pickle.dumps(tensor))
    assert (again.device, again.tolist()) == (tensor.device, tensor.tolist())
    file = io.BytesIO()
    flambeau.save({"weights": tensor}, file)
    file.seek(0)
    loaded = flambeau.load(file, map_location="cpu")["weights"]
    assert (loaded.device.type, loaded.tolist()) == ("cpu", tensor.tolist())


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


def test_sizes_that_follow_from_elements(opencl: str) -> None:
    """What the host has to read: positions and selections."""
    here = flambeau.arange(12, dtype=flambeau.float32).reshape(3, 4)
    there = here.to(opencl)
    for select in (
        lambda x: x[x > 5],
        lambda x: x.nonzero(),
        lambda x: x[flambeau.tensor([0, -1], device=x.device)],
        lambda x: (x % 5).unique(),
        lambda x: (x % 5).long().flatten().bincount(),
    ):
        found, wanted = select(there), select(here)
        assert found.device == there.device
        assert found.tolist() == wanted.tolist()
    there[there > 5] = 0
    there[flambeau.tensor([0, 1], device=opencl), 2] = flambeau.tensor([7.0, 8.0], device=opencl)
    assert there.tolist() == [[0, 1, 7, 3], [4, 5, 8, 0], [0, 0, 0, 0]]


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
