"""Losses of classes and labels by margins, and of label sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn.distance import PairwiseDistance
from flambeau.nn.loss import _Loss, _Weighted

Distance = Callable[[Tensor, Tensor], Tensor]


class MultiLabelMarginLoss(_Loss):
    """Shortfalls of the margin 1 between the scores of right classes and those of all others.

    Args:
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per sample.

    Shapes: input (N, C) or (C); target alike, right classes and then -1; loss (N) or () with
    reduction "none".

    Example:
        >>> loss = flambeau.nn.MultiLabelMarginLoss()
        >>> scores = flambeau.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> loss(scores, flambeau.tensor([[3, 0, -1, 1]]))  # classes 3 and 0 are right
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_Weighted):
    """Cross entropies of labels that are each there or not, averaged over the classes.

    Args:
        weight: one factor for each class.
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per sample.

    Shapes: input and target (N, C); loss (N) with reduction "none".

    Example:
        >>> loss = flambeau.nn.MultiLabelSoftMarginLoss()
        >>> loss(flambeau.zeros(1, 3), flambeau.tensor([[1., 0., 1.]]))  # log(2)
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class MultiMarginLoss(_Weighted):
    """Shortfalls of the margin between the score of the right class and those of all others.

    Args:
        p: power of each shortfall, 1 or 2.
        margin: distance that is far enough.
        weight: one factor for each class.
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per sample.

    Shapes: input (N, C) or (C), target (N) or (); loss (N) or () with reduction "none".

    Example:
        >>> loss = flambeau.nn.MultiMarginLoss()
        >>> loss(flambeau.tensor([[0.1, 0.2, 0.9]]), flambeau.tensor([1]))
        tensor(0.8667)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: p must be 1 or 2, got {brief(p)}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected a weight of one dim, got shape {tuple(weight.shape)}"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, self.p, self.margin, self.weight, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """max(d(anchor, positive) - d(anchor, negative) + margin, 0).

    Args:
        distance_function: d, of two tensors; None: PairwiseDistance.
        margin: by how much the negative should be farther away.
        swap: use d(positive, negative) where it is smaller.

    Shapes: anchor, positive, negative as d takes them; loss (), or what d returns with reduction
    "none".

    Example:
        >>> loss = flambeau.nn.TripletMarginWithDistanceLoss(
        ...     distance_function=lambda x, y: (x - y).abs().amax(-1)
        ... )
        >>> loss(flambeau.zeros(1, 2), flambeau.tensor([[1., 2.]]), flambeau.tensor([[0., 2.5]]))
        tensor(0.5000)
    """

    def __init__(
        self,
        *,
        distance_function: Distance | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: margin must be positive, got {margin}"
            )
        self.distance_function: Any = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip


class CTCLoss(_Loss):
    """Minus the log-probability of label sequences (A. Graves et al., 2006).

    Args:
        blank: the class between labels.
        zero_infinity: losses of labels that do not fit the input are 0 rather than infinite.

    Shapes: log_probs (T, N, C) or (T, C), targets (N, S) or all labels in one dim, lengths (N) or
    (); loss (N) or () with reduction "none".

    Example:
        >>> steps = flambeau.zeros(3, 1, 2).log_softmax(-1)  # two classes, alike likely
        >>> loss = flambeau.nn.CTCLoss(reduction="sum")
        >>> loss(steps, flambeau.tensor([[1]]), flambeau.tensor([3]), flambeau.tensor([1]))
        tensor(0.2877)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
            self.zero_infinity,
        )  # fmt: skip
