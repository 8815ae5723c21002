"""Criterions in the style of Lua Torch: gradients by finite differences, values by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_legacy_modules import apart, differences, kinds, pair, places, positive

import flambeau
from flambeau import Tensor
from flambeau.legacy import nn
from flambeau.utils._pytree import tree_leaves


def signs(*shape: int) -> Tensor:
    return apart(*shape).sign()


def shares(*shape: int) -> Tensor:
    return flambeau.softmax(apart(*shape), 1)


def weighted() -> nn.MultiCriterion:
    both = nn.MultiCriterion()
    both.add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion())
    return both


def parallel() -> nn.ParallelCriterion:
    both = nn.ParallelCriterion()
    both.add(nn.MSECriterion(), 0.5).add(nn.ClassNLLCriterion())
    return both


CLASSES = (2, 0, 1)
Case = tuple[Callable[[], nn.Criterion], Any, Any, Callable[[Any, Any], Any]]


def target_scores(x: Any, t: Any) -> Any:
    return x[np.arange(len(t)), t]


def log_softmax(x: Any) -> Any:
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def cosine(x: Any) -> Any:
    return (x[0] * x[1]).sum(1) / np.linalg.norm(x[0], axis=1) / np.linalg.norm(x[1], axis=1)


# Makes the criterion, its input and target; gives its value.
CASES: dict[str, Case] = {
    "AbsCriterion": (
        nn.AbsCriterion,
        lambda: apart(3, 4),
        lambda: apart(3, 4) + 0.01,
        lambda x, t: np.abs(x - t).mean(),
    ),
    "MSECriterion": (
        lambda: nn.MSECriterion(sizeAverage=False),
        lambda: apart(3, 4),
        lambda: apart(3, 4),
        lambda x, t: ((x - t) ** 2).sum(),
    ),
    "WeightedMSECriterion": (
        lambda: nn.WeightedMSECriterion(flambeau.arange(4.0)),
        lambda: apart(3, 4),
        lambda: apart(3, 4),
        lambda x, t: ((x - t) ** 2 * np.arange(4)).mean(),
    ),
    "SmoothL1Criterion": (
        nn.SmoothL1Criterion,
        lambda: apart(3, 4),
        lambda: apart(3, 4) + 0.01,
        lambda x, t: np.where(abs(x - t) < 1, (x - t) ** 2 / 2, abs(x - t) - 0.5).mean(),
    ),
    "SoftMarginCriterion": (
        nn.SoftMarginCriterion,
        lambda: apart(3, 4),
        lambda: signs(3, 4),
        lambda x, t: np.log1p(np.exp(-t * x)).mean(),
    ),
    "MarginCriterion": (
        nn.MarginCriterion,
        lambda: apart(3, 4),
        lambda: signs(3, 4),
        lambda x, t: np.maximum(1 - t * x, 0).mean(),
    ),
    "BCECriterion": (
        nn.BCECriterion,
        lambda: shares(3, 4),
        lambda: shares(3, 4),
        lambda x, t: -(t * np.log(x) + (1 - t) * np.log(1 - x)).mean(),
    ),
    "DistKLDivCriterion": (
        nn.DistKLDivCriterion,
        lambda: apart(3, 4),
        lambda: shares(3, 4),
        lambda x, t: (t * (np.log(t) - x)).mean(),
    ),
    "ClassNLLCriterion": (
        nn.ClassNLLCriterion,
        lambda: apart(3, 4),
        lambda: places(*CLASSES),
        lambda x, t: -target_scores(x, t).mean(),
    ),
    "SpatialClassNLLCriterion": (
        nn.SpatialClassNLLCriterion,
        lambda: apart(1, 3, 1, 3),
        lambda: places(*CLASSES).reshape(1, 1, 3),
        lambda x, t: -target_scores(x[0, :, 0].T, t[0, 0]).mean(),
    ),
    "CrossEntropyCriterion": (
        nn.CrossEntropyCriterion,
        lambda: apart(3, 4),
        lambda: places(*CLASSES),
        lambda x, t: -target_scores(log_softmax(x), t).mean(),
    ),
    "MultiMarginCriterion": (
        nn.MultiMarginCriterion,
        lambda: apart(3, 4),
        lambda: places(*CLASSES),
        lambda x, t: (np.maximum(1 - target_scores(x, t)[:, None] + x, 0).sum() - len(t)) / x.size,
    ),
    "MultiLabelMarginCriterion": (
        nn.MultiLabelMarginCriterion,
        lambda: apart(1, 3),
        lambda: places(2, 0, -1).reshape(1, 3),
        lambda x, t: sum(max(1 - x[0, k] + x[0, 1], 0) for k in (2, 0)) / 3,
    ),
    "MultiLabelSoftMarginCriterion": (
        nn.MultiLabelSoftMarginCriterion,
        lambda: apart(3, 4),
        lambda: (apart(3, 4) > 0).double(),
        lambda x, t: np.log1p(np.exp(np.where(t > 0, -x, x))).mean(),
    ),
    "HingeEmbeddingCriterion": (
        nn.HingeEmbeddingCriterion,
        lambda: positive(6),
        lambda: signs(6),
        lambda x, t: np.where(t > 0, x, np.maximum(1 - x, 0)).mean(),
    ),
    "L1HingeEmbeddingCriterion": (
        lambda: nn.L1HingeEmbeddingCriterion(20.0),
        lambda: pair(5),
        lambda: -1,
        lambda x, t: 20 - abs(x[0] - x[1]).sum(),
    ),
    "CosineEmbeddingCriterion": (
        nn.CosineEmbeddingCriterion,
        lambda: pair(3, 4),
        lambda: flambeau.tensor([1.0, -1.0, 1.0]),
        lambda x, t: np.where(t > 0, 1 - cosine(x), np.maximum(cosine(x), 0)).mean(),
    ),
    "MarginRankingCriterion": (
        lambda: nn.MarginRankingCriterion(0.5),
        lambda: pair(6),
        lambda: signs(6),
        lambda x, t: np.maximum(0.5 - t * (x[0] - x[1]), 0).mean(),
    ),
    "ClassSimplexCriterion": (
        lambda: nn.ClassSimplexCriterion(3),
        lambda: apart(3, 3),
        lambda: places(*CLASSES),
        lambda x, t: ((x - (np.eye(3) - 1 / 3)[t] * np.sqrt(1.5)) ** 2).mean(),
    ),
    "L1Cost": (nn.L1Cost, lambda: apart(3, 4), lambda: None, lambda x, t: abs(x).sum()),
    "MultiCriterion": (
        weighted,
        lambda: apart(3, 4),
        lambda: apart(3, 4) + 0.01,
        lambda x, t: ((x - t) ** 2).mean() / 2 + abs(x - t).mean(),
    ),
    "ParallelCriterion": (
        parallel,
        lambda: [apart(4), apart(3, 4)],
        lambda: [apart(4), places(*CLASSES)],
        lambda x, t: ((x[0] - t[0]) ** 2).mean() / 2 - target_scores(x[1], t[1]).mean(),
    ),
}


def test_every_criterion_is_tested() -> None:
    assert kinds(nn.Criterion) - {"Criterion"} == CASES.keys()


def arrays(value: Any) -> Any:
    if isinstance(value, list):
        return [arrays(part) for part in value]
    return value.numpy().copy() if isinstance(value, Tensor) else value


@pytest.mark.parametrize("name", CASES)
def test_criterion(name: str) -> None:
    flambeau.manual_seed(1)
    make, inputs, targets, value = CASES[name]
    criterion, input, target = make().double(), inputs(), targets()
    found = criterion.forward(input, target)
    assert isinstance(found, float)
    assert found == pytest.approx(value(arrays(input), arrays(target)), rel=1e-6)
    gradients = criterion.backward(input, target)
    for part, gradient in zip(tree_leaves(input), tree_leaves(gradients), strict=True):
        expected = differences(part, lambda: criterion.forward(input, target))
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


def test_criterion_table() -> None:
    x, target = flambeau.tensor([1.0, 3.0]), flambeau.zeros(2)
    module = nn.CriterionTable(nn.MSECriterion())
    assert module.forward([x, target]) == 5
    assert module.backward([x, target], None).tolist() == [1, 3]


def test_simplex_predictions() -> None:
    criterion = nn.ClassSimplexCriterion(4)
    scores = criterion.getPredictions(criterion.simplex)
    assert scores.argmax(1).tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(scores.diagonal(), 1, rtol=1e-5)
    assert criterion.simplex.sum(0).abs().max().item() < 1e-5
