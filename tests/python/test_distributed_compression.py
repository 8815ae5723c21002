"""PowerSGD and local SGD on several processes, against the same in NumPy."""

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
    post_localSGD_hook,
    powerSGD_hook,
    register_ddp_comm_hook,
)
from flambeau.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from flambeau.distributed.algorithms.model_averaging.hierarchical_model_averager import (
    HierarchicalModelAverager,
)
from flambeau.distributed.optim import PostLocalSGDOptimizer
from flambeau.nn.parallel import DistributedDataParallel

SIZE, STEPS, START = 2, 5, 2


class Sums(nn.Module):
    """Its gradients are what it is called with."""

    def __init__(self) -> None:
        super().__init__()
        zeros = {"matrix": (9, 8), "cube": (8, 3, 3), "vector": (5,)}
        for name, shape in zeros.items():
            setattr(self, name, nn.Parameter(flambeau.zeros(shape, dtype=flambeau.float64)))

    def forward(self, wanted: list[Tensor]) -> Tensor:
        products = [(p * w).sum() for p, w in zip(self.parameters(), wanted, strict=True)]
        return flambeau.stack(products).sum()


def wanted(rank: int, step: int) -> list[Any]:
    rng = np.random.default_rng(10 * step + rank)
    return [rng.normal(size=shape) for shape in ((9, 8), (8, 3, 3), (5,))]


def compressed(
    rank: int, size: int, hook: str, options: dict[str, Any]
) -> tuple[list[list[Any]], Any, dict[Any, Any]]:
    model = DistributedDataParallel(Sums())
    state = powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=START, **options)
    model.register_comm_hook(state, getattr(powerSGD_hook, hook))
    found = []
    for step in range(STEPS):
        model.zero_grad()
        model([flambeau.from_numpy(w) for w in wanted(rank, step)]).backward()
        found.append([p.grad.numpy().copy() for p in model.parameters()])
    shapes = {key: tuple(q.shape) for key, q in state.q_dict.items()}
    return found, state.compression_stats(), shapes


def starts(shapes: list[tuple[int, int]], seed: int) -> list[Any]:
    generator = flambeau.Generator().manual_seed(seed)
    return [flambeau.randn(shape, generator=generator).double().numpy() for shape in shapes]


def orthogonal(matrix: Any) -> Any:
    """With columns of either sign: products P P^T M do not depend on it."""
    return np.linalg.qr(matrix)[0]


@pytest.mark.parametrize("epsilon", [0.0, 1e-12])
@pytest.mark.parametrize("feedback", [True, False])
def test_matrices_of_lower_rank(feedback: bool, epsilon: float) -> None:
    options = {
        "matrix_approximation_rank": 2,
        "min_compression_rate": 2,
        "use_error_feedback": feedback,
        "orthogonalization_epsilon": epsilon,
        "random_seed": 7,
    }
    answers = ranks(SIZE, compressed, "powerSGD_hook", options)
    found, stats, shapes = answers[0]
    for mine, theirs in zip(found, answers[1][0], strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
    assert sorted(shapes.values()) == [(8, 2), (9, 2)]
    qs = dict(zip(shapes, starts(list(shapes.values()), 7), strict=True))
    sizes = {(8, 2): 0, (9, 2): 1}  # which of the parameters
    errors = [[np.zeros((9, 8)), np.zeros((8, 9))] for _ in range(SIZE)]
    for step in range(STEPS):
        given = [wanted(rank, step) for rank in range(SIZE)]
        mean = [np.mean([g[i] for g in given], axis=0) for i in range(3)]
        np.testing.assert_allclose(found[step][2], mean[2], rtol=1e-12)
        for key, shape in shapes.items():
            which = sizes[shape]
            expected = mean[which]
            if step >= START:
                matrices = [
                    given[r][which].reshape(errors[r][which].shape) + feedback * errors[r][which]
                    for r in range(SIZE)
                ]
                p = orthogonal(sum(m @ orthogonal(qs[key]) for m in matrices))
                qs[key] = sum(m.T @ p for m in matrices) / SIZE
                expected = p @ qs[key].T
                for r in range(SIZE):
                    errors[r][which] = matrices[r] - expected
            np.testing.assert_allclose(
                found[step][which].reshape(-1), expected.reshape(-1), rtol=1e-7, atol=1e-9
            )
    # of each compressed step 72 numbers of a matrix become 2 * 17, and 5 go whole
    steps = STEPS - START
    assert stats == (149 / 73, 149 * steps, 73 * steps)


def test_a_bucket_as_one_matrix() -> None:
    """Of full rank nothing is left out."""
    options = {"matrix_approximation_rank": 13, "use_error_feedback": False, "warm_start": False}
    found, _, shapes = ranks(SIZE, compressed, "batched_powerSGD_hook", options)[1]
    assert list(shapes.values()) == [(13, 13)]  # 149 gradients fit in
    for step in range(STEPS):
        for i, gradient in enumerate(found[step]):
            mean = np.mean([wanted(rank, step)[i] for rank in range(SIZE)], axis=0)
            np.testing.assert_allclose(gradient, mean, rtol=1e-9, atol=1e-9)


def test_options_of_the_state() -> None:
    with pytest.raises(ValueError, match="start_powerSGD_iter must be at least 2"):
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)
    state = powerSGD_hook.PowerSGDState(
        None, start_powerSGD_iter=0, use_error_feedback=False, warm_start=False
    )
    assert state.iter == 0


def _local(rank: int, size: int, reduces: bool) -> list[float]:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(layer.weight)
    model = DistributedDataParallel(layer)
    pair, _ = dist.new_subgroups(2)
    state = post_localSGD_hook.PostLocalSGDState(None, pair, 2, reduces)
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
    found = []
    for _ in range(4):
        model.zero_grad()
        model(flambeau.tensor([[float(rank)]])).sum().backward()
        found.append(layer.weight.grad.item())
    return found


def test_gradients_of_groups_after_some_steps() -> None:
    assert ranks(4, _local, True) == [[1.5, 1.5, 0.5, 0.5]] * 2 + [[1.5, 1.5, 2.5, 2.5]] * 2
    assert ranks(4, _local, False) == [[1.5, 1.5, r, r] for r in (0.0, 1.0, 2.0, 3.0)]


def _averaging(rank: int, size: int) -> tuple[list[float], Any]:
    weight = nn.Parameter(flambeau.zeros(1))
    averager = PeriodicModelAverager(period=2, warmup_steps=1)
    optimizer = PostLocalSGDOptimizer(optim.SGD([weight], lr=1.0), averager)
    found = []
    for _ in range(4):
        optimizer.zero_grad()
        (weight * (rank + 1.0)).sum().backward()
        optimizer.step()
        found.append(weight.item())
    state = optimizer.state_dict()
    other = PostLocalSGDOptimizer(
        optim.SGD([weight], lr=0.5), PeriodicModelAverager(period=2, warmup_steps=1)
    )
    other.load_state_dict(state)
    assert other.param_groups[0]["lr"] == 1.0 and repr(other).startswith("SGD (")
    return found, other.averager.step


def test_models_are_averaged_now_and_then() -> None:
    one, two = ranks(2, _averaging)
    assert one == ([-1.0, -3.0, -4.0, -6.0], 4)
    assert two == ([-2.0, -3.0, -5.0, -6.0], 4)
    with pytest.raises(ValueError, match="period must be above 0 and warmup_steps not below"):
        PeriodicModelAverager(period=0)


def _hierarchical(rank: int, size: int) -> list[float]:
    weight = nn.Parameter(flambeau.tensor([float(rank)]))
    weight.grad = flambeau.zeros(1)
    averager = HierarchicalModelAverager({2: 2, 4: 4}, warmup_steps=1)
    found = []
    for _ in range(5):
        averager.average_parameters([weight])
        found.append(weight.item())
        with flambeau.no_grad():
            weight += rank
    for wrong in ({}, {0: 4}, {2: 2}, {2: 3, 4: 4}, {2: 4, 4: 2}):
        with pytest.raises(ValueError, match="sizes divide the number of processes, 4"):
            HierarchicalModelAverager(wrong)
    return found


def test_models_are_averaged_over_larger_groups_less_often() -> None:
    """Steps 0 and 1 warm up or have no turn, 2 is the pairs', 4 all four's."""
    found = ranks(4, _hierarchical)
    for rank, (own, two, three, four, five) in enumerate(found):
        pair = 0.5 if rank < 2 else 2.5
        assert (own, two, three, four) == (rank, 2.0 * rank, 3 * pair, 3 * pair + rank)
        assert five == 7.5  # (3 * 1.5) + 2 * 1.5


def _by_name(rank: int, size: int) -> list[list[float]]:
    found = []
    for kind in DDPCommHookType:
        if kind is DDPCommHookType.POST_LOCAL_SGD:
            continue
        layer = nn.Linear(1, 1, bias=False)
        model = DistributedDataParallel(layer)
        register_ddp_comm_hook(kind, model)
        model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        found.append(layer.weight.grad.item())
    return found


def test_hooks_by_name() -> None:
    one, two = ranks(2, _by_name)
    assert one == [2.0] * 7 + [1.0] and two == [2.0] * 7 + [3.0]
