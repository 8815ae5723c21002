"""What every backend promises beside its operators: memory, copies, random numbers, saving.

`flambeau ops test --backend NAME` runs these tests, and those of backend_operators.py, on a device;
`device` is its type.
"""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest

import flambeau
from flambeau import nn


def test_copies(device: str) -> None:
    base = flambeau.arange(24, dtype=flambeau.float32).reshape(2, 3, 4)
    for tensor in (base, base.transpose(0, 2), base[:, ::2], base[0].t(), flambeau.ones(0, 3)):
        there = tensor.to(device)
        assert there.device == flambeau.device(device, 0)
        assert there.shape == tensor.shape
        np.testing.assert_array_equal(there.cpu().numpy(), tensor.numpy())
        converted = there.to(flambeau.int64)
        np.testing.assert_array_equal(converted.cpu().numpy(), tensor.numpy().astype(np.int64))
    assert base.transpose(0, 2).to(device).stride() == base.transpose(0, 2).stride()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "bfloat16", "complex64"])
def test_dtypes_survive(dtype: str, device: str) -> None:
    tensor = flambeau.tensor([0, 1, 1, 0]).to(getattr(flambeau, dtype))
    assert tensor.to(device)[1:].cpu().tolist() == tensor[1:].tolist()


def test_assignment_across_devices(device: str) -> None:
    there = flambeau.zeros(2, 3, device=device)
    there[1] = flambeau.tensor([1.0, 2.0, 3.0])
    there[:, 0].copy_(flambeau.tensor([7, 8]))
    assert there.tolist() == [[7.0, 0.0, 0.0], [8.0, 2.0, 3.0]]
    here = flambeau.zeros(3)
    here.copy_(there[1])
    assert here.tolist() == [8.0, 2.0, 3.0]


def test_gradient_returns_to_its_device(device: str) -> None:
    source = flambeau.ones(3, requires_grad=True)
    flambeau.zeros(3, device=device).copy_(source * 2).sum().backward()
    assert source.grad is not None
    assert (source.grad.device.type, source.grad.tolist()) == ("cpu", [2.0, 2.0, 2.0])


def test_printing(device: str) -> None:
    text = repr(flambeau.tensor([1.0, 2.5], device=device))
    assert text == f"tensor([1.0000, 2.5000], device='{device}:0')"


def test_random_numbers_are_those_of_the_cpu(device: str) -> None:
    for draw in (
        lambda device: flambeau.rand(1001, device=device),
        lambda device: flambeau.randn(1001, device=device, dtype=flambeau.float64),
        lambda device: flambeau.randint(-5, 1000, (1001,), device=device),
        lambda device: flambeau.empty(1001, device=device).exponential_(),
    ):
        flambeau.manual_seed(3)
        wanted = draw("cpu")
        flambeau.manual_seed(3)
        found = draw(device).cpu()
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_state_moves_between_devices(device: str) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).to(device)
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    other.load_state_dict(model.state_dict())
    assert all(p.device.type == "cpu" for p in other.parameters())
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert one.cpu().tolist() == two.tolist()
    model.load_state_dict(other.state_dict())
    assert all(p.device.type == device for p in model.parameters())


def test_saving(device: str) -> None:
    tensor = flambeau.arange(6, device=device).reshape(2, 3).t()
    again = pickle.loads(pickle.dumps(tensor))
    assert (again.device, again.tolist()) == (tensor.device, tensor.tolist())
    file = io.BytesIO()
    flambeau.save({"weights": tensor}, file)
    file.seek(0)
    loaded = flambeau.load(file, map_location="cpu")["weights"]
    assert (loaded.device.type, loaded.tolist()) == ("cpu", tensor.tolist())


def test_sizes_that_follow_from_elements(device: str) -> None:
    """What the host has to read: positions and selections."""
    here = flambeau.arange(12, dtype=flambeau.float32).reshape(3, 4)
    there = here.to(device)
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
    there[flambeau.tensor([0, 1], device=device), 2] = flambeau.tensor([7.0, 8.0], device=device)
    assert there.tolist() == [[0, 1, 7, 3], [4, 5, 8, 0], [0, 0, 0, 0]]


def test_results_wait_for_their_kernels(device: str) -> None:
    """Reading elements waits for the work that makes them, however it is queued."""
    x = flambeau.ones(1 << 16, device=device)
    for _ in range(50):
        x = x + 1
    assert x[-1].item() == 51.0
    assert x.cpu()[0].item() == 51.0


def test_other_devices_are_refused(device: str) -> None:
    with pytest.raises(RuntimeError, match="expected all tensors on one device"):
        flambeau.ones(2, device=device) + flambeau.ones(2)
    with pytest.raises(RuntimeError, match=f"{device}:100"):
        flambeau.empty(1, device=f"{device}:100")
