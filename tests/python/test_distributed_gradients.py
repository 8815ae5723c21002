"""Gradients of collective calls in several processes, compared with differences of what all the
processes together compute, written in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from distributed_tools import ranks

import flambeau
import flambeau.distributed as dist
from flambeau import Tensor
from flambeau.distributed import _functional_collectives
from flambeau.distributed.nn import functional as F

SIZE = 3
SPLITS = [[1, 2, 0], [0, 1, 2], [2, 0, 1]]  # rows that rank i has for rank j
Array = np.ndarray[Any, Any]


def given(rank: int, size: int) -> Array:
    """What a process begins with: three rows, some equal to those of others."""
    return np.random.default_rng(rank).integers(1, 5, (size, 2)) + 0.25 * (rank % 2)


def weights(rank: int, shape: tuple[int, ...]) -> Array:
    return np.cos(np.arange(np.prod(shape)).reshape(shape) + rank)


def rows_for(rank: int) -> list[int]:
    return [row[rank] for row in SPLITS]


# What a process computes of its tensor, and what it is by the tensors of all, stacked.
Case = tuple[Callable[[Tensor, int], Tensor], Callable[[Array, int], Array]]


def scattered(x: Tensor, op: Any) -> Tensor:
    return F.reduce_scatter(x.new_zeros(x.shape[1:]), list(x), op)


def premultiplied(rank: int) -> Any:
    return dist._make_nccl_premul_sum(2.0 + rank)


FACTORS = (2.0 + np.arange(SIZE))[:, None, None]


def exchanged(all_: Array, rank: int) -> Array:
    starts = np.cumsum([[0, *row] for row in SPLITS], 1)
    return np.concatenate([all_[i, starts[i, rank] : starts[i, rank + 1]] for i in range(SIZE)])


CASES: dict[str, Case] = {
    "all_reduce": (lambda x, r: F.all_reduce(x), lambda a, r: a.sum(0)),
    "all_reduce transposed": (lambda x, r: F.all_reduce(x.t()), lambda a, r: a.sum(0).T),
    "mean": (lambda x, r: F.all_reduce(x, dist.ReduceOp.AVG), lambda a, r: a.mean(0)),
    "weighted": (
        lambda x, r: F.all_reduce(x, premultiplied(r)),
        lambda a, r: (a * FACTORS).sum(0),
    ),
    "product": (lambda x, r: F.all_reduce(x, dist.ReduceOp.PRODUCT), lambda a, r: a.prod(0)),
    "reduce": (lambda x, r: F.reduce(x, 1), lambda a, r: a.sum(0) if r == 1 else 0 * a[r]),
    "reduce mean": (
        lambda x, r: F.reduce(x, 2, dist.ReduceOp.AVG),
        lambda a, r: a.mean(0) if r == 2 else 0 * a[r],
    ),
    "reduce product": (
        lambda x, r: F.reduce(x, 0, dist.ReduceOp.PRODUCT),
        lambda a, r: a.prod(0) if r == 0 else 0 * a[r],
    ),
    "broadcast": (lambda x, r: F.broadcast(x, 2), lambda a, r: a[2]),
    "gather": (
        lambda x, r: flambeau.stack(F.gather(x, 1)),
        lambda a, r: a if r == 1 else 0 * a,
    ),
    "scatter": (lambda x, r: F.scatter(list(x), 1), lambda a, r: a[1, r]),
    "reduce_scatter": (
        lambda x, r: scattered(x, dist.ReduceOp.SUM),
        lambda a, r: a[:, r].sum(0),
    ),
    "reduce_scatter mean": (
        lambda x, r: scattered(x, dist.ReduceOp.AVG),
        lambda a, r: a[:, r].mean(0),
    ),
    "reduce_scatter product": (
        lambda x, r: scattered(x, dist.ReduceOp.PRODUCT),
        lambda a, r: a[:, r].prod(0),
    ),
    "all_gather": (lambda x, r: flambeau.stack(F.all_gather(x)), lambda a, r: a),
    "_all_gather_base": (
        lambda x, r: F._all_gather_base(x.new_zeros(SIZE * SIZE, 2), x),
        lambda a, r: a.reshape(-1, 2),
    ),
    "all_to_all": (
        lambda x, r: flambeau.stack(F.all_to_all([x.new_zeros(2) for _ in x], list(x))),
        lambda a, r: a[:, r],
    ),
    "all_to_all_single": (
        lambda x, r: F.all_to_all_single(x.new_zeros(3, 2), x, rows_for(r), SPLITS[r]),
        exchanged,
    ),
    "all_to_all_single_autograd": (
        lambda x, r: _functional_collectives.all_to_all_single_autograd(
            x, rows_for(r), SPLITS[r], None
        ),
        exchanged,
    ),
}


def total(tensors: Array, name: str) -> float:
    """The sum of all processes' losses."""
    found = [CASES[name][1](tensors, rank) for rank in range(SIZE)]
    return float(sum((weights(r, y.shape) * y**3).sum() for r, y in enumerate(found)))


def gradients(tensors: Array, name: str) -> Array:
    """Of `total`, by central differences."""
    found = np.zeros_like(tensors)
    for place in np.ndindex(*tensors.shape):
        step = np.zeros_like(tensors)
        step[place] = 1e-5
        found[place] = (total(tensors + step, name) - total(tensors - step, name)) / 2e-5
    return found


def _gradients(rank: int, size: int) -> dict[str, list[Any]]:
    found = {}
    for name, (call, _) in CASES.items():
        x = flambeau.tensor(given(rank, size), requires_grad=True)
        y = call(x, rank)
        loss = (flambeau.tensor(weights(rank, tuple(y.shape))) * y**3).sum()
        (grad,) = flambeau.autograd.grad(loss, x, create_graph=True)
        (second,) = flambeau.autograd.grad(grad.square().sum() / 2, x)
        found[name] = [y.detach().numpy(), grad.detach().numpy(), second.numpy()]
    return found


def test_gradients() -> None:
    found = ranks(SIZE, _gradients, seconds=40)
    tensors = np.stack([given(rank, SIZE) for rank in range(SIZE)])
    for name, (_, values) in CASES.items():
        first = gradients(tensors, name)
        step = 1e-4 * first / np.abs(first).max()
        # The gradient of half its own square is the second derivative times it.
        second = gradients(tensors + step, name) - gradients(tensors - step, name)
        second *= np.abs(first).max() / 2e-4
        for rank in range(SIZE):
            y, grad, twice = found[rank][name]
            expected = values(tensors, rank)
            if not (name.startswith("reduce ") or name == "reduce") or np.any(expected):
                np.testing.assert_allclose(y, expected, err_msg=name)
            np.testing.assert_allclose(grad, first[rank], 1e-5, 1e-5, err_msg=name)
            scale = np.abs(second).max()
            np.testing.assert_allclose(twice, second[rank], 1e-3, 1e-4 * scale, err_msg=name)


def _extrema(rank: int, size: int) -> list[Any]:
    x = flambeau.tensor([[1.0, 5.0], [1.0, 3.0]][rank], requires_grad=True)
    least = F.all_reduce(x, dist.ReduceOp.MIN)
    (least * flambeau.tensor([1.0, 2.0])).sum().backward()
    most = F.reduce(x, 0, dist.ReduceOp.MAX)
    (grad,) = flambeau.autograd.grad(most.sum(), x)
    return [least.tolist(), x.grad.tolist(), most.tolist(), grad.tolist()]


def test_equal_ones_share_the_gradient() -> None:
    first, second = ranks(2, _extrema)
    assert first == [[1, 3], [1, 0], [1, 5], [0.5, 1]]
    # Both losses count; a rank that is not the root keeps its own, as a constant.
    assert second == [[1, 3], [1, 4], [1, 3], [0.5, 0]]


def _outputs(rank: int, size: int) -> list[Any]:
    x = flambeau.arange(2.0).requires_grad_() + 10 * rank
    written = [flambeau.zeros(2), [flambeau.zeros(1) for _ in range(2)], flambeau.zeros(4)]
    F.all_to_all_single(written[0], x)
    F.all_to_all(written[1], [x[:1], x[1:]])
    F._all_gather_base(written[2], x)
    part = flambeau.zeros(1)
    F.reduce_scatter(part, [x[:1], x[1:]], dist.ReduceOp.MAX)
    bits = F.all_reduce(flambeau.tensor([1 + rank]), dist.ReduceOp.BOR)
    tensors = [written[0], *written[1], written[2], part, bits]
    return [[tensor.tolist() for tensor in tensors], any(t.requires_grad for t in tensors)]


def test_outputs_are_written() -> None:
    first, second = ranks(2, _outputs)
    every = [0, 1, 10, 11]
    assert first == [[[0, 10], [0], [10], every, [10], [3]], False]
    assert second == [[[1, 11], [1], [11], every, [11], [3]], False]


def _trains(rank: int, size: int) -> list[float]:
    """One layer, whose columns lie in two processes."""
    whole = flambeau.linspace(-1, 1, 12).view(3, 4)
    weight = whole[:, 2 * rank : 2 * rank + 2].clone().requires_grad_()
    x = flambeau.linspace(0, 1, 20).view(5, 4)[:, 2 * rank : 2 * rank + 2]
    losses = []
    for _ in range(4):
        loss = F.all_reduce(x @ weight.t()).sin().square().mean()
        losses.append(loss.item())
        (grad,) = flambeau.autograd.grad(loss / size, weight)
        weight = (weight - 0.5 * grad).detach().requires_grad_()
    return losses


def test_a_layer_in_parts_trains_as_a_whole_one() -> None:
    weight = flambeau.linspace(-1, 1, 12).view(3, 4).requires_grad_()
    x, losses = flambeau.linspace(0, 1, 20).view(5, 4), []
    for _ in range(4):
        loss = (x @ weight.t()).sin().square().mean()
        losses.append(loss.item())
        (grad,) = flambeau.autograd.grad(loss, weight)
        weight = (weight - 0.5 * grad).detach().requires_grad_()
    for found in ranks(2, _trains):
        np.testing.assert_allclose(found, losses, 1e-5)


def _mistakes(rank: int, size: int) -> list[str]:
    x = flambeau.ones(2, 2)
    calls: list[Callable[[], Any]] = [
        lambda: F.all_reduce([1.0]),
        lambda: F.all_reduce(x, "sum"),
        lambda: F.scatter([x]),
        lambda: F.broadcast(x, 7),
        lambda: F.reduce_scatter(x, [x, x[0]]),
        lambda: F.all_to_all_single(x, x, [1]),
        lambda: F.all_gather(x, dist.GroupMember.NON_GROUP_MEMBER),
        lambda: dist.nn.RemoteModule,
    ]
    messages = []
    for call in calls:
        with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
            call()
        messages.append(str(caught.value))
    return messages


def test_mistakes() -> None:
    found, _ = ranks(2, _mistakes)
    assert found == [
        "all_reduce: tensor must be a Tensor, got list",
        "all_reduce: op must be a ReduceOp, got 'sum'",
        "scatter: tensors must have a tensor for each of the 2 ranks, got 1",
        "broadcast: src 7 is not among the ranks [0, 1]",
        "reduce_scatter: input_list[1] must be as the other tensors, float32 [2, 2], got "
        "float32 [2]",
        "all_to_all_single: output_split_sizes must be 2 numbers whose sum is 2, got [1]",
        "all_gather: process 0 is no member of the group",
        "flambeau.distributed.nn.RemoteModule is not available: processes of a group exchange "
        "tensors, and do not call each other's functions",
    ]
