"""Losses: numbers to make small."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.legacy.nn._recording import Recording
from flambeau.legacy.nn.containers import added
from flambeau.legacy.nn.module import Module
from flambeau.nn import functional as F
from flambeau.utils._pytree import tree_map


class Criterion(Module):
    """What is to be made small, of an input and a target.

    A subclass says in `compute(input, target)` what it is: a tensor with one element.

    Attributes:
        output: the loss of the last `forward`, a number.
        gradInput: the gradient with respect to the input; the target has none.
    """

    def forward(self, input: Any, target: Any) -> float:  # type: ignore[override]
        """The loss."""
        return self.updateOutput(input, target)

    def backward(self, input: Any, target: Any) -> Any:  # type: ignore[override]
        """The gradient with respect to the input, which `forward` must have seen last."""
        return self.updateGradInput(input, target)

    def __call__(self, input: Any, target: Any) -> float:  # type: ignore[override]
        return self.forward(input, target)

    def updateOutput(self, input: Any, target: Any) -> float:  # type: ignore[override]
        self._recording = Recording(lambda input: self.compute(input, target), input)
        self.output = self._recording.output.item()
        return self.output

    def updateGradInput(self, input: Any, target: Any) -> Any:
        recording = self._recorded("updateGradInput", input)
        self.gradInput = recording.input_gradient(flambeau.ones_like(recording.output))
        return self.gradInput


class _Averaged(Criterion):
    """A mean, or a sum where `sizeAverage` is false."""

    sizeAverage: bool = True

    @property
    def _reduction(self) -> str:
        return "mean" if self.sizeAverage else "sum"


class AbsCriterion(_Averaged):
    """Absolute differences from the target."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self._reduction)


class MSECriterion(_Averaged):
    """Squared differences from the target."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self._reduction)


class SmoothL1Criterion(_Averaged):
    """Differences from the target: halves of squares below 1, absolute beyond."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self._reduction)


class SoftMarginCriterion(_Averaged):
    """`log(1 + exp(-y x))` of targets `y` that are 1 or -1."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self._reduction)


class MultiLabelMarginCriterion(_Averaged):
    """Margins between the classes of a sample and others; targets (N, classes) list the classes,
    -1 after the last.
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self._reduction)


class DistKLDivCriterion(_Averaged):
    """Divergences of distributions, whose logarithms are the input, from the target."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self._reduction)


class WeightedMSECriterion(Criterion):
    """Squared differences, each times a weight."""

    weight: Tensor
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        squares = self.weight * (input - target).square()
        return squares.mean() if self.sizeAverage else squares.sum()


class BCECriterion(Criterion):
    """Cross entropy of probabilities and targets in [0, 1]."""

    weights: Tensor | None = None
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.binary_cross_entropy(input, target, self.weights, reduction=reduction)


class ClassNLLCriterion(Criterion):
    """Negated log probabilities (N, classes) of the classes that are the targets (N,), int64."""

    weights: Tensor | None = None
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.nll_loss(input, target, self.weights, reduction=reduction)


class SpatialClassNLLCriterion(ClassNLLCriterion):
    """`ClassNLLCriterion` of every pixel: (N, classes, H, W) and targets (N, H, W)."""


class CrossEntropyCriterion(Criterion):
    """`ClassNLLCriterion` of the logarithms of `SoftMax`."""

    weights: Tensor | None = None

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weights)


class MultiLabelSoftMarginCriterion(Criterion):
    """Cross entropy of the logistic function of each class; targets (N, classes) of 0 and 1."""

    weights: Tensor | None = None

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weights)


class MultiMarginCriterion(Criterion):
    """Margins between the target's class and others, to the power `p`, 1 or 2."""

    p: int = 1
    weights: Tensor | None = None
    margin: float = 1
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.multi_margin_loss(
            input, target, self.p, self.margin, self.weights, reduction=reduction
        )


class MarginCriterion(Criterion):
    """By how much `y x` is below the margin, of targets `y` that are 1 or -1."""

    margin: float = 1
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        short = F.relu(self.margin - target * input)
        return short.mean() if self.sizeAverage else short.sum()


class HingeEmbeddingCriterion(Criterion):
    """Distances of what is alike (target 1), and what lacks of the margin (target -1)."""

    margin: float = 1
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.hinge_embedding_loss(input, target, self.margin, reduction=reduction)


class L1HingeEmbeddingCriterion(Criterion):
    """`HingeEmbeddingCriterion` of the sum of absolute differences of a table's two tensors; the
    target is one number.
    """

    margin: float = 1

    def compute(self, input: list[Tensor], target: float) -> Tensor:
        distance = (input[0] - input[1]).abs().sum()
        return distance if target == 1 else F.relu(self.margin - distance)


class CosineEmbeddingCriterion(Criterion):
    """1 less the cosine of what is alike (target 1); the cosine above the margin (target -1). The
    input is a table of two tensors (N, features).
    """

    margin: float = 0
    sizeAverage: bool = True

    def compute(self, input: list[Tensor], target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.cosine_embedding_loss(input[0], input[1], target, self.margin, reduction=reduction)


class MarginRankingCriterion(Criterion):
    """By how much the first of a table's two tensors does not exceed the second by the margin
    where the target is 1; the other way round where it is -1.
    """

    margin: float = 0
    sizeAverage: bool = True

    def compute(self, input: list[Tensor], target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.margin_ranking_loss(input[0], input[1], target, self.margin, reduction=reduction)


class ClassSimplexCriterion(Criterion):
    """Squared differences from the corners of a regular simplex, one per class; the input has a
    feature for each class. `getPredictions` gives the scores.
    """

    def __init__(self, nClasses: int) -> None:
        self.nClasses = nClasses
        self.simplex = _simplex(nClasses)

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, self.simplex.to(input.dtype)[target])

    def getPredictions(self, input: Tensor) -> Tensor:
        """How near each class is (N, classes)."""
        return input @ self.simplex.to(input.dtype).T


def _simplex(corners: int) -> Tensor:
    """Points (corners, corners) of length 1 that are equally far from each other, their sum 0."""
    centred = flambeau.eye(corners) - 1 / corners
    return F.normalize(centred, dim=1)


class L1Cost(Criterion):
    """The sum of absolute elements; there is no target."""

    def forward(self, input: Any, target: Any = None) -> float:
        return self.updateOutput(input, target)

    def backward(self, input: Any, target: Any = None) -> Any:  # type: ignore[override]
        return self.updateGradInput(input, target)

    def compute(self, input: Tensor, target: Any) -> Tensor:
        return input.abs().sum()


# --- several criterions ---


class _Weighted(Criterion):
    """Criterions and what each weighs."""

    def __init__(self) -> None:
        self.criterions: list[Criterion] = []
        self.weights: list[float] = []

    def children(self) -> list[Module]:
        return list(self.criterions)

    def add(self, criterion: Criterion, weight: float = 1) -> _Weighted:
        """Appends a criterion; returns this one."""
        self.criterions.append(criterion)
        self.weights.append(weight)
        return self

    def _parts(self, input: Any, target: Any) -> list[tuple[Criterion, float, Any, Any]]:
        """Each criterion, its weight, input and target."""
        raise NotImplementedError

    def updateOutput(self, input: Any, target: Any) -> float:  # type: ignore[override]
        self.output = sum(w * c.forward(i, t) for c, w, i, t in self._parts(input, target))
        return self.output

    def _gradients(self, input: Any, target: Any) -> list[Any]:
        return [
            tree_map(lambda grad, w=weight: grad * w, criterion.backward(part, wanted))
            for criterion, weight, part, wanted in self._parts(input, target)
        ]


class MultiCriterion(_Weighted):
    """The weighted sum of criterions of one input and one target."""

    def _parts(self, input: Any, target: Any) -> list[tuple[Criterion, float, Any, Any]]:
        return [(c, w, input, target) for c, w in zip(self.criterions, self.weights, strict=True)]

    def updateGradInput(self, input: Any, target: Any) -> Any:
        self.gradInput = added(input, self._gradients(input, target))
        return self.gradInput


class ParallelCriterion(_Weighted):
    """The weighted sum of criterions, each of its own element of the input, a table.

    Args:
        repeatTarget: whether all have the same target; otherwise the target is a table too.
    """

    def __init__(self, repeatTarget: bool = False) -> None:
        super().__init__()
        self.repeatTarget = repeatTarget

    def _parts(self, input: Any, target: Any) -> list[tuple[Criterion, float, Any, Any]]:
        targets = [target] * len(input) if self.repeatTarget else target
        return list(zip(self.criterions, self.weights, input, targets, strict=True))

    def updateGradInput(self, input: Any, target: Any) -> Any:
        self.gradInput = self._gradients(input, target)
        return self.gradInput


class CriterionTable(Module):
    """A criterion as a module: the input is a table [input, target]."""

    criterion: Criterion

    def updateOutput(self, input: list[Any]) -> float:
        self.output = self.criterion.forward(*input)
        return self.output

    def updateGradInput(self, input: list[Any], gradOutput: Any = None) -> Any:
        self.gradInput = self.criterion.backward(*input)
        return self.gradInput
