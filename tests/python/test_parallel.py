"""A module on several devices; the CPU several times stands for them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn import parallel

Pair = namedtuple("Pair", "a b")


def test_without_devices_the_module_is_called() -> None:
    layer = nn.Linear(3, 2)
    wrapped = nn.DataParallel(layer, device_ids=[])
    x = flambeau.randn(4, 3)
    np.testing.assert_array_equal(wrapped(x).detach(), layer(x).detach().numpy())
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_parts_of_a_batch(count: int) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    model[2].bias = nn.Parameter(flambeau.ones(2))
    wrapped = nn.DataParallel(model, device_ids=["cpu"] * count)
    x = flambeau.randn(5, 3)
    found, wanted = wrapped(x), model(x)
    np.testing.assert_allclose(found.detach(), wanted.detach().numpy(), rtol=1e-6)
    found.square().sum().backward()
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    wanted.square().sum().backward()
    for gradient, parameter in zip(gradients, model.parameters(), strict=True):
        assert parameter.grad is not None
        np.testing.assert_allclose(gradient, parameter.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_smaller_batches_than_devices_and_keywords() -> None:
    class Shifted(nn.Module):
        def forward(self, x: Tensor, *, by: Tensor, times: int) -> dict[str, Any]:
            return {"sum": x + by * times, "none": None, "pair": Pair(x, by)}

    found = nn.DataParallel(Shifted(), device_ids=["cpu"] * 3)(
        flambeau.ones(2, 1), by=flambeau.ones(2, 1), times=3
    )
    assert found["sum"].tolist() == [[4], [4]]
    assert found["none"] is None
    assert isinstance(found["pair"], Pair)
    assert found["pair"].b.shape == (2, 1)


def test_replicas_have_copies_that_gradients_flow_through() -> None:
    layer = nn.BatchNorm1d(2)
    first, second = parallel.replicate(layer, ["cpu", "cpu"])
    assert first.weight is not second.weight
    (first.weight * 2 + second.weight * 3).sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.tolist() == [5, 5]
    (free,) = parallel.replicate(layer, ["cpu"], detach=True)
    assert not free.weight.requires_grad


def test_results_of_numbers_make_a_vector() -> None:
    assert parallel.gather([flambeau.tensor(1.0), flambeau.tensor(2.0)], "cpu").tolist() == [1, 2]
    with pytest.raises(ValueError, match="keys"):
        parallel.gather([{"a": flambeau.ones(1)}, {"b": flambeau.ones(1)}], "cpu")


def test_modes_and_errors_reach_the_caller() -> None:
    layer = nn.Linear(3, 2)
    with flambeau.no_grad():
        assert not parallel.data_parallel(layer, flambeau.ones(4, 3), ["cpu"] * 2).requires_grad
    with pytest.raises(RuntimeError, match="linear"):
        parallel.data_parallel(layer, flambeau.ones(4, 7), ["cpu"] * 2)
    with pytest.raises(ValueError, match="as many"):
        parallel.parallel_apply([layer], [flambeau.ones(1, 3)] * 2)
    with pytest.raises(RuntimeError, match="'weight' on meta"):
        nn.DataParallel(layer, ["meta"])(flambeau.ones(1, 3))
