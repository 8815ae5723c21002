"""DistributedDataParallel and SyncBatchNorm, compared with one process and the whole batch."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from distributed_tools import ranks

import flambeau
import flambeau.distributed as dist
from flambeau import Tensor, nn, optim
from flambeau.nn.parallel import DistributedDataParallel

float64 = flambeau.float64


def network(seed: int) -> nn.Module:
    flambeau.manual_seed(seed)
    layers = nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 30), nn.Tanh())
    layers.append(nn.Linear(30, 2))
    return layers.to(float64)


def batch(step: int) -> tuple[Tensor, Tensor]:
    random = np.random.default_rng(step)
    x, y = random.standard_normal((12, 5)), random.standard_normal((12, 2))
    return flambeau.from_numpy(x), flambeau.from_numpy(y)


def part(whole: Tensor, rank: int, size: int) -> Tensor:
    return whole.chunk(size)[rank]


def arrays(tensors: Any) -> list[Any]:
    return [None if t is None else t.detach().numpy().copy() for t in tensors]


def gradients(model: nn.Module) -> list[Any]:
    return arrays(p.grad for p in model.parameters())


def _train(rank: int, size: int, options: dict[str, Any]) -> Any:
    model = DistributedDataParallel(network(rank), **options)
    assert next(iter(model.state_dict())) == "module.0.weight"
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    seen = []
    for step in range(4):
        x, y = batch(step)
        loss = nn.functional.mse_loss(model(part(x, rank, size)), part(y, rank, size))
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        loss.backward()
        seen.append(gradients(model))
        optimizer.step()
    return seen, arrays(model.parameters())


def _train_alone() -> Any:
    model = network(0)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    seen = []
    for step in range(4):
        x, y = batch(step)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        seen.append(gradients(model))
        optimizer.step()
    return seen, arrays(model.parameters())


@pytest.mark.parametrize(
    ("size", "options"),
    [
        (2, {}),
        (3, {"bucket_cap_mb": 0.003}),
        (2, {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.003}),
        (2, {"find_unused_parameters": True}),
        (2, {"static_graph": True, "gradient_as_bucket_view": True}),
    ],
)
def test_gradients_are_those_of_the_whole_batch(size: int, options: dict[str, Any]) -> None:
    wanted, wanted_end = _train_alone()
    answers = ranks(size, _train, options)
    for seen, end in answers:
        for step, expected in zip(seen, wanted, strict=True):
            for found, one in zip(step, expected, strict=True):
                np.testing.assert_allclose(found, one, rtol=1e-12, atol=1e-14)
        for found, one in zip(end, wanted_end, strict=True):
            np.testing.assert_allclose(found, one, rtol=1e-12, atol=1e-13)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(end, answers[0][1], strict=True))


def _no_sync(rank: int, size: int) -> Any:
    model = DistributedDataParallel(network(0))
    (x, y), (u, v) = batch(1), batch(2)
    with model.no_sync():
        nn.functional.mse_loss(model(part(x, rank, size)), part(y, rank, size)).backward()
    alone = gradients(model)
    nn.functional.mse_loss(model(part(u, rank, size)), part(v, rank, size)).backward()
    return alone, gradients(model)


def test_no_sync_adds_up() -> None:
    answers = ranks(2, _no_sync)
    model = network(0)
    for step in (1, 2):
        x, y = batch(step)
        nn.functional.mse_loss(model(x), y).backward()
    for _, found in answers:
        for one, wanted in zip(found, gradients(model), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-14)
    assert not np.allclose(answers[0][0][0], answers[1][0][0])


def _shared_buffers(rank: int, size: int) -> list[float]:
    """The running means of a process after each of four forwards of its own number."""
    model = DistributedDataParallel(nn.BatchNorm1d(1, momentum=0.5))
    seen = []
    for number in range(4):
        x = flambeau.full((2, 1), float(rank + 1))
        with model.no_sync() if number == 1 else nullcontext():
            model(x).sum().backward()
        seen.append(model.module.running_mean.item())
    return seen


def test_buffers_are_shared_after_gradients() -> None:
    """A forward begins with those of rank 0, unless the one before it averaged nothing."""
    first, second = ranks(2, _shared_buffers)
    assert first == [0.5, 0.75, 0.875, 0.9375]
    # 0 -> (0 + 2) / 2, (0.5 + 2) / 2, (1.25 + 2) / 2 of its own, (0.875 + 2) / 2
    assert second == [1.0, 1.25, 1.625, 1.4375]


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.never = (nn.Linear(2, 1).to(float64) for _ in range(3))

    def forward(self, x: Tensor, which: int) -> dict[str, Tensor]:
        return {"out": (self.second if which else self.first)(x)}


def _branches(rank: int, size: int) -> Any:
    flambeau.manual_seed(0)
    model = DistributedDataParallel(Branches(), find_unused_parameters=True)
    x = flambeau.ones(3, 2, dtype=float64) * (rank + 1)
    model(x, which=rank)["out"].sum().backward()
    return gradients(model)


def test_parameters_that_some_processes_do_not_use() -> None:
    for first, first_bias, second, second_bias, *never in ranks(2, _branches):
        np.testing.assert_array_equal(first, [[1.5, 1.5]])  # 3 of rank 0, nothing of rank 1
        np.testing.assert_array_equal(second, [[3.0, 3.0]])
        np.testing.assert_array_equal([first_bias, second_bias], [[1.5], [1.5]])
        assert never == [None, None]


def _forgotten(rank: int, size: int) -> str:
    model = DistributedDataParallel(Branches())
    x = flambeau.ones(3, 2, dtype=float64)
    model(x, which=0)["out"].sum().backward()
    with pytest.raises(RuntimeError, match="never.bias") as caught:
        model(x, which=0)
    return str(caught.value)


def test_unused_parameters_that_were_not_announced() -> None:
    for text in ranks(2, _forgotten):
        assert "Expected to have finished reduction" in text
        assert "find_unused_parameters=True" in text


def _wrong_models(rank: int, size: int) -> None:
    with pytest.raises(RuntimeError, match="doesn't have any parameters"):
        DistributedDataParallel(nn.ReLU())
    with pytest.raises(ValueError, match="device_ids"):
        DistributedDataParallel(nn.Linear(1, 1), device_ids=[0])
    with pytest.raises(RuntimeError, match=r"has the parameter .*\[2, [23]\].* in its place"):
        DistributedDataParallel(nn.Linear(2 + rank, 2))
    with pytest.raises(RuntimeError, match="parameters, rank"):
        DistributedDataParallel(nn.Linear(2, 2, bias=rank == 0))
    model = DistributedDataParallel(nn.Linear(2, 2))
    again = copy.deepcopy(model)
    again(flambeau.ones(1, 2)).sum().backward()
    assert model.module.weight.grad is None and again.module.weight.grad is not None


def test_models_that_differ() -> None:
    ranks(2, _wrong_models)


def _buffers(rank: int, size: int) -> Any:
    flambeau.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    for _ in range(2):
        model(flambeau.randn(4, 2)).sum().backward()
    model.eval()
    model(flambeau.randn(4, 2))
    return arrays(model.buffers())


def test_buffers_are_those_of_the_first() -> None:
    first, second = ranks(2, _buffers)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def _normalized(rank: int, size: int) -> Any:
    flambeau.manual_seed(1)
    layer = nn.SyncBatchNorm(3).to(float64)
    x = flambeau.randn(10, 3, 4, dtype=float64)
    weights = flambeau.randn(10, 3, 4, dtype=float64)
    # Parts of different sizes.
    begin, end = (0, 3) if rank == 0 else (3, 10)
    mine = x[begin:end].clone().requires_grad_()
    out = layer(mine)
    (out * weights[begin:end]).sum().backward()
    assert mine.grad is not None
    grads = arrays(p.grad for p in layer.parameters())
    layer.eval()
    return out.detach().numpy(), mine.grad.numpy(), grads, arrays(layer.buffers())


def test_batch_norm_of_all_processes() -> None:
    answers = ranks(2, _normalized)
    flambeau.manual_seed(1)
    layer = nn.BatchNorm1d(3).to(float64)
    x = flambeau.randn(10, 3, 4, dtype=float64).requires_grad_()
    weights = flambeau.randn(10, 3, 4, dtype=float64)
    out = layer(x)
    (out * weights).sum().backward()
    assert x.grad is not None
    found = np.concatenate([answer[0] for answer in answers])
    np.testing.assert_allclose(found, out.detach().numpy(), rtol=1e-11, atol=1e-12)
    found = np.concatenate([answer[1] for answer in answers])
    np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-10, atol=1e-12)
    for i, parameter in enumerate(layer.parameters()):
        assert parameter.grad is not None
        summed = sum(answer[2][i] for answer in answers)
        np.testing.assert_allclose(summed, parameter.grad.numpy(), rtol=1e-11)
    for *_, buffers in answers:
        for found, wanted in zip(buffers, arrays(layer.buffers()), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def _sampled(rank: int, size: int) -> list[int]:
    numbers: Any = range(5)
    return list(flambeau.utils.data.DistributedSampler(numbers, shuffle=False))


def test_samplers_ask_the_group() -> None:
    assert ranks(2, _sampled) == [[0, 2, 4], [1, 3, 0]]
    assert dist.is_initialized() is False
