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

    Example:
        >>> from flambeau.legacy import nn
        >>> criterion = nn.MSECriterion()  # is a Criterion
        >>> x, target = flambeau.tensor([3.]), flambeau.tensor([1.])
        >>> float(criterion.forward(x, target)), criterion.backward(x, target)
        (4.0, tensor([4.]))
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
    """Absolute differences from the target.

    Example:
        >>> criterion = flambeau.legacy.nn.AbsCriterion()
        >>> x = flambeau.tensor([1., 2.])
        >>> round(float(criterion.forward(x, flambeau.tensor([1., 4.]))), 4)
        1.0
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self._reduction)


class MSECriterion(_Averaged):
    """Squared differences from the target.

    Example:
        >>> criterion = flambeau.legacy.nn.MSECriterion()
        >>> x = flambeau.tensor([1., 2.])
        >>> round(float(criterion.forward(x, flambeau.tensor([1., 4.]))), 4)
        2.0
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self._reduction)


class SmoothL1Criterion(_Averaged):
    """Differences from the target: halves of squares below 1, absolute beyond.

    Example:
        >>> criterion = flambeau.legacy.nn.SmoothL1Criterion()
        >>> x = flambeau.tensor([0.5, 3.])
        >>> round(float(criterion.forward(x, flambeau.tensor([0., 0.]))), 4)
        1.3125
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self._reduction)


class SoftMarginCriterion(_Averaged):
    """`log(1 + exp(-y x))` of targets `y` that are 1 or -1.

    Example:
        >>> criterion = flambeau.legacy.nn.SoftMarginCriterion()
        >>> x = flambeau.tensor([0.])
        >>> round(float(criterion.forward(x, flambeau.tensor([1.]))), 4)
        0.6931
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self._reduction)


class MultiLabelMarginCriterion(_Averaged):
    """Margins between the classes of a sample and others; targets (N, classes) list the classes,
    -1 after the last.

    Example:
        >>> criterion = flambeau.legacy.nn.MultiLabelMarginCriterion()
        >>> x = flambeau.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> round(float(criterion.forward(x, flambeau.tensor([[3, 0, -1, -1]]))), 4)
        0.85
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self._reduction)


class DistKLDivCriterion(_Averaged):
    """Divergences of distributions, whose logarithms are the input, from the target.

    Example:
        >>> criterion = flambeau.legacy.nn.DistKLDivCriterion()
        >>> x = flambeau.tensor([0.5, 0.5]).log()
        >>> round(float(criterion.forward(x, flambeau.tensor([1., 0.]))), 4)
        0.3466
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self._reduction)


class WeightedMSECriterion(Criterion):
    """Squared differences, each times a weight.

    Example:
        >>> criterion = flambeau.legacy.nn.WeightedMSECriterion(flambeau.tensor([1., 2.]))
        >>> x = flambeau.tensor([1., 2.])
        >>> round(float(criterion.forward(x, flambeau.tensor([1., 4.]))), 4)
        4.0
    """

    weight: Tensor
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        squares = self.weight * (input - target).square()
        return squares.mean() if self.sizeAverage else squares.sum()


class BCECriterion(Criterion):
    """Cross entropy of probabilities and targets in [0, 1].

    Example:
        >>> criterion = flambeau.legacy.nn.BCECriterion()
        >>> x = flambeau.tensor([0.5])
        >>> round(float(criterion.forward(x, flambeau.tensor([1.]))), 4)
        0.6931
    """

    weights: Tensor | None = None
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.binary_cross_entropy(input, target, self.weights, reduction=reduction)


class ClassNLLCriterion(Criterion):
    """Negated log probabilities (N, classes) of the classes that are the targets (N,), int64.

    Example:
        >>> criterion = flambeau.legacy.nn.ClassNLLCriterion()
        >>> x = flambeau.tensor([[0.5, 0.5]]).log()
        >>> round(float(criterion.forward(x, flambeau.tensor([1]))), 4)
        0.6931
    """

    weights: Tensor | None = None
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.nll_loss(input, target, self.weights, reduction=reduction)


class SpatialClassNLLCriterion(ClassNLLCriterion):
    """`ClassNLLCriterion` of every pixel: (N, classes, H, W) and targets (N, H, W).

    Example:
        >>> criterion = flambeau.legacy.nn.SpatialClassNLLCriterion()
        >>> x = flambeau.zeros(1, 2, 1, 1).log_softmax(1)
        >>> round(float(criterion.forward(x, flambeau.zeros(1, 1, 1, dtype=flambeau.int64))), 4)
        0.6931
    """


class CrossEntropyCriterion(Criterion):
    """`ClassNLLCriterion` of the logarithms of `SoftMax`.

    Example:
        >>> criterion = flambeau.legacy.nn.CrossEntropyCriterion()
        >>> round(float(criterion.forward(flambeau.zeros(1, 2), flambeau.tensor([1]))), 4)
        0.6931
    """

    weights: Tensor | None = None

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weights)


class MultiLabelSoftMarginCriterion(Criterion):
    """Cross entropy of the logistic function of each class; targets (N, classes) of 0 and 1.

    Example:
        >>> criterion = flambeau.legacy.nn.MultiLabelSoftMarginCriterion()
        >>> x = flambeau.zeros(1, 3)
        >>> round(float(criterion.forward(x, flambeau.tensor([[1., 0., 1.]]))), 4)
        0.6931
    """

    weights: Tensor | None = None

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weights)


class MultiMarginCriterion(Criterion):
    """Margins between the target's class and others, to the power `p`, 1 or 2.

    Example:
        >>> criterion = flambeau.legacy.nn.MultiMarginCriterion()
        >>> x = flambeau.tensor([[0.1, 0.2, 0.9]])
        >>> round(float(criterion.forward(x, flambeau.tensor([1]))), 4)
        0.8667
    """

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
    """By how much `y x` is below the margin, of targets `y` that are 1 or -1.

    Example:
        >>> criterion = flambeau.legacy.nn.MarginCriterion()
        >>> x = flambeau.tensor([0.5])
        >>> round(float(criterion.forward(x, flambeau.tensor([1.]))), 4)
        0.5
    """

    margin: float = 1
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        short = F.relu(self.margin - target * input)
        return short.mean() if self.sizeAverage else short.sum()


class HingeEmbeddingCriterion(Criterion):
    """Distances of what is alike (target 1), and what lacks of the margin (target -1).

    Example:
        >>> criterion = flambeau.legacy.nn.HingeEmbeddingCriterion()
        >>> x = flambeau.tensor([0.25])
        >>> round(float(criterion.forward(x, flambeau.tensor([-1.]))), 4)
        0.75
    """

    margin: float = 1
    sizeAverage: bool = True

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.hinge_embedding_loss(input, target, self.margin, reduction=reduction)


class L1HingeEmbeddingCriterion(Criterion):
    """`HingeEmbeddingCriterion` of the sum of absolute differences of a table's two tensors; the
    target is one number.

    Example:
        >>> criterion = flambeau.legacy.nn.L1HingeEmbeddingCriterion()
        >>> x = [flambeau.tensor([1.]), flambeau.tensor([3.])]
        >>> round(float(criterion.forward(x, 1)), 4)
        2.0
    """

    margin: float = 1

    def compute(self, input: list[Tensor], target: float) -> Tensor:
        distance = (input[0] - input[1]).abs().sum()
        return distance if target == 1 else F.relu(self.margin - distance)


class CosineEmbeddingCriterion(Criterion):
    """1 less the cosine of what is alike (target 1); the cosine above the margin (target -1). The
    input is a table of two tensors (N, features).

    Example:
        >>> criterion = flambeau.legacy.nn.CosineEmbeddingCriterion()
        >>> x = [flambeau.tensor([[1., 0.]]), flambeau.tensor([[0., 1.]])]
        >>> round(float(criterion.forward(x, flambeau.tensor([1.]))), 4)
        1.0
    """

    margin: float = 0
    sizeAverage: bool = True

    def compute(self, input: list[Tensor], target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.cosine_embedding_loss(input[0], input[1], target, self.margin, reduction=reduction)


class MarginRankingCriterion(Criterion):
    """By how much the first of a table's two tensors does not exceed the second by the margin
    where the target is 1; the other way round where it is -1.

    Example:
        >>> criterion = flambeau.legacy.nn.MarginRankingCriterion(0.5)
        >>> x = [flambeau.tensor([1.]), flambeau.tensor([2.])]
        >>> round(float(criterion.forward(x, flambeau.tensor([1.]))), 4)
        1.5
    """

    margin: float = 0
    sizeAverage: bool = True

    def compute(self, input: list[Tensor], target: Tensor) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.margin_ranking_loss(input[0], input[1], target, self.margin, reduction=reduction)


class ClassSimplexCriterion(Criterion):
    """Squared differences from the corners of a regular simplex, one per class; the input has a
    feature for each class. `getPredictions` gives the scores.

    Example:
        >>> criterion = flambeau.legacy.nn.ClassSimplexCriterion(3)
        >>> round(float(criterion.forward(flambeau.zeros(1, 3), flambeau.tensor([1]))), 4)
        0.3333
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
    """The sum of absolute elements; there is no target.

    Example:
        >>> criterion = flambeau.legacy.nn.L1Cost()
        >>> round(float(criterion.forward(flambeau.tensor([1., -2.]), None)), 4)
        3.0
    """

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
    """The weighted sum of criterions of one input and one target.

    Example:
        >>> from flambeau.legacy import nn
        >>> criterion = nn.MultiCriterion().add(nn.MSECriterion()).add(nn.AbsCriterion(), 0.5)
        >>> float(criterion.forward(flambeau.tensor([3.]), flambeau.tensor([1.])))
        5.0
    """

    def _parts(self, input: Any, target: Any) -> list[tuple[Criterion, float, Any, Any]]:
        return [(c, w, input, target) for c, w in zip(self.criterions, self.weights, strict=True)]

    def updateGradInput(self, input: Any, target: Any) -> Any:
        self.gradInput = added(input, self._gradients(input, target))
        return self.gradInput


class ParallelCriterion(_Weighted):
    """The weighted sum of criterions, each of its own element of the input, a table.

    Args:
        repeatTarget: whether all have the same target; otherwise the target is a table too.

    Example:
        >>> from flambeau.legacy import nn
        >>> criterion = nn.ParallelCriterion().add(nn.MSECriterion()).add(nn.AbsCriterion())
        >>> one, three = flambeau.tensor([1.]), flambeau.tensor([3.])
        >>> float(criterion.forward([one, three], [three, three]))
        4.0
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
    """A criterion as a module: the input is a table [input, target].

    Example:
        >>> from flambeau.legacy import nn
        >>> module = nn.CriterionTable(nn.MSECriterion())
        >>> float(module.forward([flambeau.tensor([3.]), flambeau.tensor([1.])]))
        4.0
    """

    criterion: Criterion

    def updateOutput(self, input: list[Any]) -> float:
        self.output = self.criterion.forward(*input)
        return self.output

    def updateGradInput(self, input: list[Any], gradOutput: Any = None) -> Any:
        self.gradInput = self.criterion.backward(*input)
        return self.gradInput
