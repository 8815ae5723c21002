"""Pruning: masks, methods on top of each other, several tensors at once, removal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.utils import prune


def layer_of(values: Any) -> nn.Linear:
    matrix = flambeau.tensor(values)
    layer = nn.Linear(matrix.shape[1], matrix.shape[0], bias=False)
    with flambeau.no_grad():
        layer.weight.copy_(matrix)
    return layer


def test_least_magnitudes_go() -> None:
    layer = layer_of([[1.0, -5.0, 3.0], [0.5, 2.0, -4.0]])
    weight = layer.weight
    assert prune.l1_unstructured(layer, "weight", 2) is layer
    assert layer.weight_orig is weight
    assert layer.weight_mask.tolist() == [[0, 1, 1], [0, 1, 1]]
    assert layer.weight.tolist() == [[0, -5, 3], [0, 2, -4]]
    assert list(layer.state_dict()) == ["weight_orig", "weight_mask"]
    layer(flambeau.ones(1, 3)).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == layer.weight_mask.tolist()


def test_prunings_add_up() -> None:
    layer = layer_of([[1.0, -5.0, 3.0, 6.0], [0.5, 2.0, -4.0, 7.0]])
    prune.l1_unstructured(layer, "weight", 0.25)
    prune.l1_unstructured(layer, "weight", 1 / 3)
    assert layer.weight_mask.tolist() == [[0, 1, 0, 1], [0, 0, 1, 1]]
    (hook,) = layer._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer)
    assert [type(method) for method in hook] == [prune.L1Unstructured] * 2
    prune.ln_structured(layer, "weight", 1, n=2, dim=1)
    # Of the columns that are left, (-5, 0), (0, -4), (6, 7), the second is the smallest.
    assert layer.weight_mask.tolist() == [[0, 1, 0, 1], [0, 0, 0, 1]]
    assert len(hook) == 3


@pytest.mark.parametrize(("n", "gone"), [(1, 0), (2, 1), (float("inf"), 1)])
def test_slices_of_least_norm_go(n: Any, gone: int) -> None:
    layer = layer_of([[4.0, 0.0, 0.0], [2.0, 2.0, 2.0], [4.0, 4.0, 4.0]])
    prune.ln_structured(layer, "weight", amount=0.34, n=n, dim=0)
    assert layer.weight_mask.sum(1).tolist() == [0 if i == gone else 3 for i in range(3)]


def test_random_prunings_take_the_right_number() -> None:
    layer = nn.Conv2d(4, 6, 3)
    prune.random_unstructured(layer, "weight", 10)
    assert int((layer.weight_mask == 0).sum()) == 10
    prune.random_structured(layer, "weight", 2, dim=0)
    assert int((layer.weight_mask.sum([1, 2, 3]) == 0).sum()) >= 2
    other = nn.Conv2d(4, 6, 3)
    prune.random_structured(other, "weight", 0.5, dim=1)
    assert sorted(other.weight_mask.sum([0, 2, 3]).tolist()) == [0, 0, 54, 54]


def test_importance_scores_and_custom_masks() -> None:
    layer = layer_of([[1.0, 2.0], [3.0, 4.0]])
    scores = flambeau.tensor([[4.0, 3.0], [2.0, 1.0]])
    prune.l1_unstructured(layer, "weight", 1, importance_scores=scores)
    assert layer.weight.tolist() == [[1, 2], [3, 0]]
    prune.custom_from_mask(layer, "weight", flambeau.tensor([[0, 1], [1, 1]]))
    assert layer.weight.tolist() == [[0, 2], [3, 0]]
    method = prune.L1Unstructured(1)
    assert method.prune(scores).tolist() == [[4, 3], [2, 0]]


def test_several_tensors_as_one() -> None:
    first, second = layer_of([[1.0, 9.0]]), layer_of([[2.0, 3.0], [8.0, 7.0]])
    pairs = [(first, "weight"), (second, "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.5)
    assert first.weight.tolist() == [[0, 9]]
    assert second.weight.tolist() == [[0, 0], [8, 7]]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=1)
    assert second.weight.tolist() == [[0, 0], [8, 0]]
    with pytest.raises(TypeError, match="unstructured"):
        prune.global_unstructured(pairs, prune.RandomStructured, amount=1)


def test_removal_keeps_what_is_left() -> None:
    layer = layer_of([[1.0, 2.0], [3.0, 4.0]])
    weight = layer.weight
    assert not prune.is_pruned(nn.Sequential(layer))
    prune.identity(layer, "weight")
    prune.l1_unstructured(layer, "weight", 1)
    assert prune.is_pruned(nn.Sequential(layer))
    prune.remove(layer, "weight")
    assert not prune.is_pruned(layer)
    assert layer.weight is weight
    assert layer.weight.tolist() == [[0, 2], [3, 4]]
    assert list(layer.state_dict()) == ["weight"]
    with pytest.raises(ValueError, match="not pruned"):
        prune.remove(layer, "weight")


def test_pruned_modules_train_and_load() -> None:
    layer = nn.Linear(4, 2)
    prune.l1_unstructured(layer, "weight", 3)
    clone = nn.Linear(4, 2)
    prune.identity(clone, "weight")
    optimizer = flambeau.optim.SGD(layer.parameters(), lr=0.1)
    layer(flambeau.ones(1, 4)).sum().backward()
    optimizer.step()
    layer(flambeau.ones(1, 4))
    assert int((layer.weight == 0).sum()) == 3
    assert not np.array_equal(layer.weight.detach(), clone.weight.detach())
    clone.load_state_dict(layer.state_dict())
    clone(flambeau.ones(1, 4))
    np.testing.assert_array_equal(layer.weight.detach(), clone.weight.detach().numpy())


def test_methods_of_ones_own() -> None:
    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
            mask = default_mask.clone().flatten()
            mask[::2] = 0
            return mask.reshape(default_mask.shape)

    layer = layer_of([[1.0, 2.0], [3.0, 4.0]])
    EveryOther.apply(layer, "weight")
    assert layer.weight.tolist() == [[0, 2], [0, 4]]


def test_wrong_arguments() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError, match="amount"):
        prune.l1_unstructured(layer, "weight", "all")  # type: ignore[arg-type]
    for amount in (-1, 1.5, -0.5, 5, float("nan")):
        with pytest.raises(ValueError, match="amount"):
            prune.l1_unstructured(layer, "weight", amount)
    with pytest.raises(ValueError, match="no parameter 'nothing'"):
        prune.identity(layer, "nothing")
    with pytest.raises(IndexError, match="dim 3"):
        prune.random_structured(layer, "weight", 1, 3)
    with pytest.raises(ValueError, match="2 dimensions"):
        prune.random_structured(layer, "bias", 1, 0)
    with pytest.raises(ValueError, match="importance_scores"):
        prune.l1_unstructured(layer, "weight", 1, importance_scores=flambeau.ones(3))
    assert list(layer.state_dict()) == ["weight", "bias"]
    with pytest.raises(TypeError, match="is_pruned"):
        prune.is_pruned(3)  # type: ignore[arg-type]
