"""Communication hooks, `join`, meshes and divided optimizers, compared with one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from distributed_tools import ranks

import flambeau
import flambeau.distributed as dist
from flambeau import Tensor, nn, optim
from flambeau.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType,
    default_hooks,
    register_ddp_comm_hook,
)
from flambeau.distributed.algorithms.join import Join
from flambeau.distributed.optim import ZeroRedundancyOptimizer
from flambeau.nn.parallel import DistributedDataParallel


def network() -> nn.Module:
    flambeau.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)).double()


def batch(seed: int) -> Tensor:
    return flambeau.from_numpy(np.random.default_rng(seed).standard_normal((6, 5)))


def backward(model: nn.Module, x: Tensor) -> None:
    model(x).square().mean().backward()


def arrays(model: nn.Module) -> list[Any]:
    return [p.detach().numpy().copy() for p in model.parameters()]


def gradients(model: nn.Module) -> list[Any]:
    return [p.grad.numpy().copy() for p in model.parameters() if p.grad is not None]


def averaged(seeds: list[int], count: int) -> list[Any]:
    """What one process gets from the batches of several, divided by `count`."""
    model = network()
    for seed in seeds:
        backward(model, batch(seed))
    return [gradient / count for gradient in gradients(model)]


def _twice(state: list[int], bucket: Any) -> Any:
    """Averages in two calls, the second of which waits within what follows the first."""
    state.append(bucket.index())
    assert sum(g.numel() for g in bucket.gradients()) == bucket.buffer().numel()
    work = dist.all_reduce(bucket.buffer(), async_op=True)

    def follow(done: Any) -> Tensor:
        half = done.value()[0].div_(2 * dist.get_world_size())
        return dist.all_reduce(half, async_op=True).get_future().wait()[0].div_(1.5)

    return work.get_future().then(follow)


def _with_hooks(rank: int, size: int) -> Any:
    found = {}
    for name in ("ALLREDUCE", "FP16_COMPRESS", "BF16_COMPRESS", "NOOP"):
        model = DistributedDataParallel(network(), bucket_cap_mb=1e-4)
        register_ddp_comm_hook(getattr(DDPCommHookType, name), model)
        backward(model, batch(rank))
        found[name] = gradients(model)
    model = DistributedDataParallel(network())
    hook = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)
    model.register_comm_hook(None, hook)
    backward(model, batch(rank))
    found["wrapped"] = gradients(model)
    seen: list[int] = []
    model = DistributedDataParallel(network())
    model.register_comm_hook(seen, _twice)
    backward(model, batch(rank))
    found["twice"] = gradients(model)
    assert seen == [0]
    with pytest.raises(RuntimeError, match="once"):
        model.register_comm_hook(None, hook)
    wrong = DistributedDataParallel(network())
    wrong.register_comm_hook(None, lambda state, bucket: bucket.buffer())
    with pytest.raises(RuntimeError, match="must return a Future"):
        backward(wrong, batch(rank))
    return found


def test_hooks() -> None:
    wanted = averaged([0, 1, 2], 3)
    for rank, found in enumerate(ranks(3, _with_hooks)):
        for name, exact in (("ALLREDUCE", 1e-12), ("FP16_COMPRESS", 2e-3), ("wrapped", 2e-3)):
            for mine, other in zip(found[name], wanted, strict=True):
                np.testing.assert_allclose(mine, other, rtol=exact, atol=exact)
        for mine, other in zip(found["BF16_COMPRESS"], wanted, strict=True):
            np.testing.assert_allclose(mine, other, rtol=2e-2, atol=2e-2)
        for mine, other in zip(found["NOOP"], averaged([rank], 1), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-12)
        for mine, other in zip(found["twice"], wanted, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-15)


def _joining(rank: int, size: int, whole: bool) -> Any:
    model = DistributedDataParallel(network(), find_unused_parameters=rank == 9)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    with model.join(divide_by_initial_world_size=whole):
        for step in range(1 + 2 * rank):
            optimizer.zero_grad()
            backward(model, batch(10 * rank + step))
            optimizer.step()
    return arrays(model)


@pytest.mark.parametrize("whole", [True, False])
def test_different_numbers_of_batches(whole: bool) -> None:
    """Against one process that adds up what the others would have."""
    size = 3
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for step in range(1 + 2 * (size - 1)):
        active = [rank for rank in range(size) if step < 1 + 2 * rank]
        optimizer.zero_grad()
        for rank in active:
            backward(model, batch(10 * rank + step))
        for parameter in model.parameters():
            assert parameter.grad is not None
            parameter.grad /= size if whole else len(active)
        optimizer.step()
    for found in ranks(size, _joining, whole):
        for mine, other in zip(found, arrays(model), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-12)


def _ending_early(rank: int, size: int) -> Any:
    model = DistributedDataParallel(network())
    try:
        with model.join(throw_on_early_termination=True):
            for step in range(2 + rank):
                backward(model, batch(step))
    except RuntimeError as error:
        return str(error)
    return ""


def test_an_early_end_is_an_error_where_wanted() -> None:
    first, second = ranks(2, _ending_early)
    assert "Rank 0 exhausted" in first
    assert "at least one rank that exhausted" in second


def _dividing(rank: int, size: int) -> Any:
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=0.1)
    schedule = optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    with Join([model, optimizer]):
        for step in range(2 + rank):
            optimizer.zero_grad()
            backward(model, batch(10 * rank + step))
            optimizer.step()
    schedule.step()
    optimizer.consolidate_state_dict(to=1)
    owned = len(optimizer.optim.state)
    if rank != 1:
        with pytest.raises(RuntimeError, match="consolidate"):
            optimizer.state_dict()
        return arrays(model), owned, None
    return arrays(model), owned, optimizer.state_dict()


def test_an_optimizer_that_is_divided() -> None:
    model = network()
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        for rank in range(2):
            if step < 2 + rank:
                backward(model, batch(10 * rank + step))
        for parameter in model.parameters():
            assert parameter.grad is not None
            parameter.grad /= 2
        optimizer.step()
    found = ranks(2, _dividing)
    for parameters, _, _ in found:
        for mine, other in zip(parameters, arrays(model), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-11)
    assert sum(owned for _, owned, _ in found) == 4
    assert all(owned > 0 for _, owned, _ in found)
    state = found[1][2]
    assert state["param_groups"][0]["lr"] == 0.05
    for number, parameter in enumerate(model.parameters()):
        mine, other = state["state"][number], optimizer.state[parameter]
        assert flambeau.allclose(mine["exp_avg"], other["exp_avg"], rtol=1e-11, atol=1e-14)
    optimizer.load_state_dict(state)  # the same form as of any other optimizer


def _of_a_mesh(rank: int, size: int) -> Any:
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
    sums = []
    for name in ("data", "model"):
        x = flambeau.tensor([float(rank)])
        dist.all_reduce(x, group=mesh[name].get_group())
        sums.append(x.item())
    x = flambeau.tensor([float(rank)])
    dist.all_reduce(x, group=mesh._flatten().get_group())
    part = dist.split_group(None, [[3, 0], [1]])
    return sums, mesh.get_coordinate(), mesh["model"].mesh.tolist(), x.item(), part and part.ranks


def test_meshes() -> None:
    found = ranks(4, _of_a_mesh)
    for rank, (sums, place, row, total, part) in enumerate(found):
        i, j = divmod(rank, 2)
        assert place == [i, j] and row == [2 * i, 2 * i + 1] and total == 6
        assert sums == [0 + 2 + 2 * j, 4 * i + 1]
        assert part == {0: [0, 3], 1: [1], 2: None, 3: [0, 3]}[rank]


def _of_wrong_meshes(rank: int, size: int) -> None:
    with pytest.raises(RuntimeError, match="device_type must be 'cpu'"):
        dist.init_device_mesh("cuda", (2,))
    with pytest.raises(RuntimeError, match="of 3 processes"):
        dist.init_device_mesh("cpu", (3,))
    with pytest.raises(RuntimeError, match="unique"):
        dist.init_device_mesh("cpu", (2, 1), mesh_dim_names=("a", "a"))
    mesh = dist.init_device_mesh("cpu", (2, 1), mesh_dim_names=("a", "b"))
    with pytest.raises(KeyError, match="no dim 'c'"):
        mesh.get_group("c")
    with pytest.raises(RuntimeError, match="mesh_dim is needed"):
        mesh.get_group()


def test_meshes_that_are_wrong() -> None:
    ranks(2, _of_wrong_meshes)


def _profiled(rank: int, size: int) -> list[str]:
    x = flambeau.ones(3)
    with flambeau.profiler.profile() as prof:
        dist.all_reduce(x)
        with dist.record_comm("outer"):
            with dist.record_comm("inner"):
                dist.broadcast(x, 0)
            work = dist.all_reduce(x, async_op=True)
        assert work is not None and work.wait()
        dist.barrier()
    return [event.name for event in prof.events() if event.kind == "range"]


def test_profiles_show_collective_calls_by_the_name_that_is_given() -> None:
    names = ["gloo:all_reduce", "inner", "outer", "gloo:barrier"]
    assert ranks(2, _profiled) == [names, names]


def _shrunk(rank: int, size: int) -> None:
    for wrong, told in [
        ([], "some and not all"),
        ([2], r"of \[0, 1\], got \[2\]"),
        ([0, 1], "not all"),
        ([1, 1], "must be different"),
    ]:
        with pytest.raises(ValueError, match=told):
            dist.shrink_group(wrong)
    with pytest.raises(TypeError, match="must be a list of int, got 'x'"):
        dist.shrink_group("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"new_group\(\[0\], use_local_synchronization=True\)"):
        dist.shrink_group([1])


def test_groups_say_that_they_cannot_shrink() -> None:
    ranks(2, _shrunk)
