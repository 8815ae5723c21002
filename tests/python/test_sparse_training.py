"""Sparse gradients: what they are, how they add up, and what optimizers make of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as torch

F = torch.nn.functional
RANDOM = np.random.default_rng(5)


def numbers(*shape: int) -> Any:
    return torch.from_numpy(RANDOM.standard_normal(shape))


def layer(**options: Any) -> tuple[Any, Any]:
    """The same embedding with sparse and with strided gradients."""
    table = numbers(6, 3)
    return tuple(
        torch.nn.Embedding(
            6, 3, sparse=sparse, _weight=table.clone(), dtype=torch.float64, **options
        )
        for sparse in (True, False)
    )


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}, {"scale_grad_by_freq": True}])
def test_gradients_are_those_of_strided_tables(options: dict[str, Any]) -> None:
    sparse, strided = layer(**options)
    index, weights = torch.tensor([[1, 1, 2], [5, 0, 1]]), numbers(2, 3, 3)
    for one in (sparse, strided):
        (one(index) * weights).sum().backward()
    found = sparse.weight.grad
    assert found.is_sparse and not strided.weight.grad.is_sparse
    np.testing.assert_allclose(found.to_dense().numpy(), strided.weight.grad.numpy())
    if "padding_idx" in options:
        assert 2 not in found._indices().tolist()[0]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags(mode: str) -> None:
    table, offsets = numbers(6, 3), torch.tensor([0, 2, 2])
    index, weights = torch.tensor([1, 4, 4, 0]), numbers(3, 3)
    gradients = []
    for sparse in (True, False):
        bag = torch.nn.EmbeddingBag(6, 3, mode=mode, sparse=sparse, _weight=table.clone())
        (bag(index, offsets) * weights).sum().backward()
        gradients.append(bag.weight.grad)
    assert gradients[0].is_sparse
    np.testing.assert_allclose(gradients[0].to_dense().numpy(), gradients[1].numpy())


def test_sums_of_gradients_of_both_layouts() -> None:
    table, index = numbers(4, 2), torch.tensor([0, 2, 2])

    def looked_up(weight: Any) -> Any:
        return (F.embedding(index, weight, sparse=True) ** 2).sum()

    def whole(weight: Any) -> Any:
        return (weight**3).sum()

    once = 2 * table.numpy() * np.array([[1], [0], [2], [0]])
    cubes = 3 * table.numpy() ** 2
    for steps, wanted, is_sparse in (
        ((looked_up, looked_up), 2 * once, True),
        ((looked_up, whole), once + cubes, False),
        ((whole, looked_up), once + cubes, False),
    ):
        apart = table.clone().requires_grad_()
        for step in steps:
            step(apart).backward()
        together = table.clone().requires_grad_()
        sum(step(together) for step in steps).backward()
        for weight in (apart, together):
            assert weight.grad.is_sparse is is_sparse
            np.testing.assert_allclose(weight.grad.to_dense().numpy(), wanted)


def test_accumulated_memory_is_the_leafs() -> None:
    weight = numbers(4, 2).requires_grad_()
    found = F.embedding(torch.tensor([1]), weight, sparse=True)
    found.retain_grad()
    found.sum().backward()
    weight.grad.mul_(0)
    assert found.grad.tolist() == [[1, 1]]


def test_hooks_see_and_replace_sparse_gradients() -> None:
    weight = numbers(4, 2).requires_grad_()
    weight.register_hook(lambda g: g * 2 if g.is_sparse else None)
    after = []
    weight.register_post_accumulate_grad_hook(lambda p: after.append(p.grad.is_sparse))
    F.embedding(torch.tensor([1, 3]), weight, sparse=True).sum().backward()
    assert after == [True]
    np.testing.assert_allclose(weight.grad.to_dense().numpy(), [[0, 0], [2, 2], [0, 0], [2, 2]])
    (found,) = torch.autograd.grad(
        F.embedding(torch.tensor([1]), weight, sparse=True).sum(), weight
    )
    assert found.is_sparse


def test_zero_grad_and_clipping() -> None:
    sparse, strided = layer()
    index = torch.tensor([1, 1, 4])
    norms = []
    for one in (sparse, strided):
        (one(index) ** 2).sum().backward()
        norms.append(torch.nn.utils.clip_grad_norm_(one.parameters(), 0.5).item())
    assert norms[0] == pytest.approx(norms[1])
    np.testing.assert_allclose(sparse.weight.grad.to_dense().numpy(), strided.weight.grad.numpy())
    sparse.zero_grad(set_to_none=False)
    assert sparse.weight.grad.is_sparse and sparse.weight.grad._nnz() == 0
    sparse.zero_grad()
    assert sparse.weight.grad is None


def test_products_have_sparse_and_strided_gradients() -> None:
    """The gradient of the sparse matrix is that of the strided one at its places."""
    places = torch.tensor([[0, 2, 2, 1], [1, 0, 3, 1]])
    values, right, weights = numbers(4), numbers(4, 2), numbers(3, 2)
    matrix = torch.sparse_coo_tensor(places, values, (3, 4)).requires_grad_()
    other = right.clone().requires_grad_()
    ((matrix @ other) * weights).sum().backward()
    whole = weights.numpy() @ right.numpy().T
    assert matrix.grad.is_sparse
    rows, columns = places.numpy()
    np.testing.assert_allclose(matrix.grad._values().numpy(), whole[rows, columns])
    np.testing.assert_allclose(
        other.grad.numpy(), matrix.detach().to_dense().numpy().T @ weights.numpy()
    )


def composed(values: Any, right: Any) -> list[Any]:
    """Numbers that depend on the values of a sparse tensor through all that has a gradient."""
    places = torch.tensor([[0, 2, 2, 1], [1, 0, 3, 1]])
    one = torch.sparse_coo_tensor(places, values, (3, 4))
    two = torch.sparse_coo_tensor(places.flip(1), values * values, (3, 4))
    mask = torch.from_numpy(np.linspace(1, 2, 12).reshape(3, 4))
    return [
        (one.to_dense() * mask).sum(),
        ((one + two * 3 - one / 2).to_dense() * mask).sum(),
        ((one * two).to_dense() * mask).sum(),
        ((one * mask).to_dense() ** 2).sum(),
        (one.t().to_dense().T * mask).sum(),
        (torch.sparse.mm(one, right) ** 2).sum(),
        (torch.sparse.softmax(one, 1).to_dense() * mask).sum(),
        (torch.sparse.log_softmax(one, 0).to_dense() * mask).sum(),
        (torch.sparse.sum(one, 0).to_dense() ** 2).sum(),
        (one.coalesce().values() ** 3).sum(),
        (one.clone().double().sum()) ** 2,
        ((mask + one) ** 2).sum(),
        ((mask.sparse_mask(one) * one.to_dense()).to_dense() ** 2).sum(),
    ]


def test_gradients_are_differences() -> None:
    start, right = RANDOM.standard_normal(4), numbers(4, 2)
    count = len(composed(torch.from_numpy(start), right))
    for i in range(count):
        values = torch.from_numpy(start.copy()).requires_grad_()
        (found,) = torch.autograd.grad(composed(values, right)[i], values)
        wanted = []
        for k in range(4):
            ends = []
            for sign in (1, -1):
                moved = start.copy()
                moved[k] += sign * 1e-6
                ends.append(composed(torch.from_numpy(moved), right)[i].item())
            wanted.append((ends[0] - ends[1]) / 2e-6)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6, err_msg=str(i))


def trained(optimizer: Callable[[Any], Any], steps: int = 4) -> Any:
    """A table after some steps, each of which looks at other rows."""
    table = np.linspace(-1, 1, 18).reshape(6, 3)
    weight = torch.from_numpy(table.copy()).requires_grad_()
    down = optimizer([weight])
    for step in range(steps):
        down.zero_grad()
        rows = F.embedding(torch.tensor([step, step, 5]), weight, sparse=True)
        (rows**2).sum().backward()
        down.step()
    return weight.detach().numpy()


def gradient(weight: Any, step: int) -> Any:
    """The same gradient, strided, in NumPy."""
    counts = np.zeros((6, 1))
    np.add.at(counts, [step, step, 5], 1)
    return 2 * weight * counts


def test_sgd() -> None:
    plain = np.linspace(-1, 1, 18).reshape(6, 3)
    for step in range(4):
        plain = plain - 0.1 * gradient(plain, step)
    np.testing.assert_allclose(trained(lambda p: torch.optim.SGD(p, lr=0.1)), plain)
    weight, buffer = np.linspace(-1, 1, 18).reshape(6, 3), None
    for step in range(4):
        slope = gradient(weight, step)
        buffer = slope if buffer is None else 0.9 * buffer + 0.8 * slope
        weight = weight - 0.1 * buffer
    found = trained(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2))
    np.testing.assert_allclose(found, weight)


def test_adagrad() -> None:
    weight, squares = np.linspace(-1, 1, 18).reshape(6, 3), np.zeros((6, 3))
    for step in range(4):
        slope = gradient(weight, step)
        squares = squares + slope**2
        rate = 0.1 / (1 + step * 0.5)
        weight = weight - rate * slope / (np.sqrt(squares) + 1e-10)
    found = trained(lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.5))
    np.testing.assert_allclose(found, weight)


def test_sparse_adam_moves_what_is_listed() -> None:
    """Moments of rows that are not listed neither decay nor move the row."""
    weight = np.linspace(-1, 1, 18).reshape(6, 3)
    first, second = np.zeros((6, 3)), np.zeros((6, 3))
    for step in range(4):
        rows = [step, 5]
        slope = gradient(weight, step)[rows]
        first[rows] = 0.9 * first[rows] + 0.1 * slope
        second[rows] = 0.99 * second[rows] + 0.01 * slope**2
        rate = 0.1 * np.sqrt(1 - 0.99 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        weight[rows] -= rate * first[rows] / (np.sqrt(second[rows]) + 1e-8)
    found = trained(lambda p: torch.optim.SparseAdam(p, lr=0.1, betas=(0.9, 0.99)))
    np.testing.assert_allclose(found, weight)


def test_who_takes_which_gradients() -> None:
    weight = numbers(4, 2).requires_grad_()
    F.embedding(torch.tensor([1]), weight, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match="sparse_coo"):
        torch.optim.Adam([weight]).step()
    for kind in (torch.optim.SGD, torch.optim.Adagrad):
        with pytest.raises(RuntimeError, match="weight_decay"):
            kind([weight], lr=0.1, weight_decay=0.1).step()
    with pytest.raises(ValueError, match="must be strided"):
        torch.optim.SparseAdam([torch.ones(2, 2).to_sparse()])
    weight.grad = torch.ones(4, 2).double()
    with pytest.raises(RuntimeError, match="Adam takes strided"):
        torch.optim.SparseAdam([weight]).step()
