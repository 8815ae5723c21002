"""Where tensors are made when no device is named: get_default_device, set_default_device, with."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import flambeau


def test_blocks() -> None:
    assert flambeau.get_default_device() == flambeau.device("cpu")
    with flambeau.device("meta") as inside:
        assert inside == flambeau.get_default_device() == flambeau.device("meta")
        for made in (
            flambeau.zeros(2),
            flambeau.tensor([1.0]),
            flambeau.Tensor(3),
            flambeau.arange(3),
            flambeau.rand(2),
            flambeau.as_tensor(np.zeros(2)),
            flambeau.nn.Linear(2, 2).weight,
        ):
            assert made.is_meta
        assert flambeau.zeros(2, device="cpu").device.type == "cpu"
        with flambeau.device("cpu"):
            assert not flambeau.zeros(2).is_meta
        assert flambeau.zeros(2).is_meta
        assert flambeau.zeros_like(flambeau.zeros(2, device="cpu")).device.type == "cpu"
    assert not flambeau.zeros(2).is_meta
    with pytest.raises(ValueError, match="inside"), flambeau.device("meta"):
        raise ValueError("inside")
    assert not flambeau.zeros(2).is_meta


def test_operators_compute_where_their_arguments_are() -> None:
    x, weight = flambeau.rand(1, 2, 6, 6, requires_grad=True), flambeau.rand(3, 2, 3, 3)
    with flambeau.device("meta"):
        y = flambeau.nn.functional.conv2d(x, weight, padding=1).softmax(1)
        y = (y[:, 0].cumsum(1) + y.std()).reshape(-1)[[0, 3, 5]]
        y.sum().backward()
    assert y.device.type == "cpu" and x.grad is not None and x.grad.device.type == "cpu"


def test_set() -> None:
    try:
        flambeau.set_default_device("meta")
        assert flambeau.ones(1).is_meta
        seen = []
        thread = threading.Thread(target=lambda: seen.append(flambeau.ones(1).is_meta))
        thread.start()
        thread.join()
        assert seen == [False], "each thread has a default of its own"
    finally:
        flambeau.set_default_device(None)
    assert not flambeau.ones(1).is_meta


def test_a_device_as_a_block_or_around_a_function() -> None:
    from flambeau.utils._device import DeviceContext, set_device

    with DeviceContext("meta"):
        assert flambeau.ones(2).device.type == "meta"
        with DeviceContext(flambeau.device("cpu")):
            assert flambeau.ones(2).device.type == "cpu"
    assert flambeau.ones(2).device.type == "cpu"
    assert set_device("meta")(flambeau.ones)(2).device.type == "meta"
