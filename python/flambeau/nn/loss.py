"""Losses as modules. `reduction` is "none", "mean" or "sum"."""

from __future__ import annotations

import warnings
from typing import Any

from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.nn.functional.reductions import check_reduction
from flambeau.nn.module import Module

# The functions are generated from declarations: type checkers do not see them in F.
_f: Any = F


def _reduction(
    name: str, reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """The reduction; the two flags are its former spelling and win where given."""
    if size_average is not None or reduce is not None:
        if reduce is False:
            return "none"
        return "sum" if size_average is False else "mean"
    check_reduction(name, reduction)
    return reduction


class _Loss(Module):
    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.reduction = _reduction(type(self).__name__, reduction, size_average, reduce)


class _Weighted(_Loss):
    """A loss with constant weights, kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """|input - target|, averaged or summed.

    Args:
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shapes: input and target alike; loss (), or theirs with reduction "none".

    Example:
        >>> flambeau.nn.L1Loss()(flambeau.tensor([1., 2.]), flambeau.tensor([1., 4.]))
        tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target)^2, averaged or summed.

    Args:
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shapes: input and target alike; loss (), or theirs with reduction "none".

    Example:
        >>> loss = flambeau.nn.MSELoss()
        >>> loss(flambeau.tensor([1., 2.]), flambeau.tensor([1., 4.]))
        tensor(2.)
        >>> loss = flambeau.nn.MSELoss(reduction="none")
        >>> loss(flambeau.tensor([1., 2.]), flambeau.tensor([1., 4.]))
        tensor([0., 4.])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """d^2 / (2 beta) where d = |input - target| is below beta, else d - beta / 2.

    Args:
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per element.
        beta: where the parabola becomes a line of slope 1.

    Shapes: input and target alike; loss (), or theirs with reduction "none".

    Source: R. Girshick, Fast R-CNN, 2015.

    Example:
        >>> loss = flambeau.nn.SmoothL1Loss(reduction="none")
        >>> loss(flambeau.tensor([0.5, 3.]), flambeau.zeros(2))
        tensor([0.1250, 2.5000])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """d^2 / 2 where d = |input - target| is below delta, else delta (d - delta / 2).

    Args:
        reduction: "mean", "sum", or "none" for one loss per element.
        delta: where the parabola becomes a line of slope delta.

    Shapes: input and target alike; loss (), or theirs with reduction "none".

    Source: P. Huber, Robust Estimation of a Location Parameter, 1964.

    Example:
        >>> loss = flambeau.nn.HuberLoss(reduction="none", delta=2.)
        >>> loss(flambeau.tensor([1., 3.]), flambeau.zeros(2))
        tensor([0.5000, 4.0000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_Weighted):
    """-weight[target] * input[target], of log-probabilities.

    Args:
        weight: one factor per class.
        size_average, reduce: former spellings of `reduction`.
        ignore_index: a target that counts nothing.
        reduction: "mean" divides by the sum of the weights; "sum"; "none".

    Shapes: input (N, C), (C,) or (N, C, d1, ...), target (N,), () or (N, d1, ...) of int64; loss
    (), or the target's with reduction "none".

    Example:
        >>> log_probabilities = flambeau.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
        >>> flambeau.nn.NLLLoss(reduction="none")(log_probabilities, flambeau.tensor([0, 1]))
        tensor([0.6931, 0.2877])
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.nll_loss(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """The former name of NLLLoss, of images; gives a FutureWarning.

    Arguments and shapes are those of NLLLoss.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     loss = flambeau.nn.NLLLoss2d()
        >>> caught[0].category.__name__
        'FutureWarning'
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn("NLLLoss2d is now called NLLLoss", FutureWarning, stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_Weighted):
    """NLLLoss of log_softmax(input): log(sum(exp(input))) - input[target].

    Args:
        weight: one factor per class.
        size_average, reduce: former spellings of `reduction`.
        ignore_index: a target that counts nothing.
        reduction: "mean" divides by the sum of the weights; "sum"; "none".
        label_smoothing: share of the target spread over all classes.

    Shapes: input (N, C), (C,) or (N, C, d1, ...) unnormalized; target classes (N,), (), (N, d1,
    ...) of int64, or probabilities of the input's shape; loss (), or the target's with reduction
    "none".

    Example:
        >>> loss = flambeau.nn.CrossEntropyLoss()
        >>> loss(flambeau.tensor([[0., 0.]]), flambeau.tensor([1]))
        tensor(0.6931)
        >>> loss(flambeau.tensor([[0., 0.]]), flambeau.tensor([[0.25, 0.75]]))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_Weighted):
    """-weight (target log(input) + (1 - target) log(1 - input)), logarithms at least -100.

    Args:
        weight: a factor per element, broadcast.
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shapes: input and target alike, of probabilities; loss (), or theirs with reduction "none".

    Example:
        >>> loss = flambeau.nn.BCELoss(reduction="none")
        >>> loss(flambeau.tensor([0.5, 0.9]), flambeau.tensor([0., 1.]))
        tensor([0.6931, 0.1054])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Weighted):
    """BCELoss of sigmoid(input), computed without overflow.

    Args:
        weight: a factor per element, broadcast.
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per element.
        pos_weight: a factor of the first term, broadcast: above 1, misses count more than false
            alarms.

    Shapes: input and target alike; loss (), or theirs with reduction "none".

    Example:
        >>> loss = flambeau.nn.BCEWithLogitsLoss(reduction="none")
        >>> loss(flambeau.tensor([0., 1000.]), flambeau.tensor([1., 0.]))
        tensor([6.9315e-01, 1.0000e+03])
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(_Loss):
    """target (log(target) - input), of log-probabilities.

    Args:
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", "none", or "batchmean": the sum divided by the number of samples,
            the divergence itself.
        log_target: whether targets are logarithms too.

    Shapes: input and target alike; loss (), or theirs with reduction "none".

    Example:
        >>> loss = flambeau.nn.KLDivLoss(reduction="batchmean")
        >>> loss(flambeau.tensor([[0.5, 0.5]]).log(), flambeau.tensor([[1., 0.]]))  # log(2)
        tensor(0.6931)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        batchmean = reduction == "batchmean" and size_average is None and reduce is None
        super().__init__(size_average, reduce, "mean" if batchmean else reduction)
        if batchmean:
            self.reduction = "batchmean"
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """exp(input) - target * input; without log_input: input - target * log(input + eps).

    Args:
        log_input: whether the input is the logarithm of the expected count.
        full: add Stirling's approximation of log(target!).
        size_average, reduce: former spellings of `reduction`.
        eps: keeps the logarithm finite.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shapes: input and target alike; loss (), or theirs with reduction "none".

    Example:
        >>> loss = flambeau.nn.PoissonNLLLoss(log_input=False)
        >>> loss(flambeau.tensor([1.]), flambeau.tensor([2.]))
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return _f.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
            reduction=self.reduction,
        )  # fmt: skip


class GaussianNLLLoss(_Loss):
    """(log(var) + (input - target)^2 / var) / 2 with var at least eps.

    Args:
        full: add log(2 pi) / 2.
        eps: the smallest variance.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shapes: input and target alike; var alike, with a last size of 1, or without it; loss (), or the
    input's with reduction "none".

    Example:
        >>> one = flambeau.ones(1)
        >>> flambeau.nn.GaussianNLLLoss()(3 * one, one, one)
        tensor(2.)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return _f.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), targets 1 or -1.

    Args:
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shapes: input and target alike; loss (), or theirs with reduction "none".

    Example:
        >>> loss = flambeau.nn.SoftMarginLoss(reduction="none")
        >>> loss(flambeau.tensor([0., 2.]), flambeau.tensor([1., -1.]))
        tensor([0.6931, 2.1269])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.soft_margin_loss(input, target, reduction=self.reduction)


class _Margin(_Loss):
    def __init__(
        self,
        margin: float,
        size_average: bool | None,
        reduce: bool | None,
        reduction: str,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_Margin):
    """input where target is 1, max(0, margin - input) where it is -1.

    Args:
        margin: distance beyond which what is unlike costs nothing.
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shapes: input (distances) and target alike; loss (), or theirs with reduction "none".

    Example:
        >>> loss = flambeau.nn.HingeEmbeddingLoss(reduction="none")
        >>> loss(flambeau.tensor([0.2, 0.4]), flambeau.tensor([1, -1]))
        tensor([0.2000, 0.6000])
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return _f.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Margin):
    """max(0, -target (input1 - input2) + margin); target 1: input1 shall be larger; -1: input2.

    Args:
        margin: by how much.
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per pair.

    Shapes: inputs and target alike, (N) or (); loss (), or theirs with reduction "none".

    Example:
        >>> loss = flambeau.nn.MarginRankingLoss(margin=0.5)
        >>> loss(flambeau.tensor([1.]), flambeau.tensor([2.]), flambeau.tensor([1.]))
        tensor(1.5000)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return _f.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_Margin):
    """1 - cos(input1, input2) where target is 1, max(0, cos(input1, input2) - margin) where -1.

    Args:
        margin: cosine below which what is unlike costs nothing.
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per pair.

    Shapes: inputs (N, D) or (D), target (N) or (); loss (), or the target's with reduction "none".

    Example:
        >>> loss = flambeau.nn.CosineEmbeddingLoss()
        >>> loss(flambeau.tensor([[1., 0.]]), flambeau.tensor([[0., 1.]]), flambeau.tensor([1]))
        tensor(1.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return _f.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class TripletMarginLoss(_Loss):
    """max(|anchor - positive| - |anchor - negative| + margin, 0), p-norms over the last dimension.

    Args:
        margin: by how much the negative should be farther away.
        p, eps: of the norm, as in pairwise_distance.
        swap: use |positive - negative| where it is smaller.
        size_average, reduce: former spellings of `reduction`.
        reduction: "mean", "sum", or "none" for one loss per triplet.

    Shapes: anchor, positive, negative (N, D) or (D); loss (), or (N) with reduction "none".

    Example:
        >>> loss = flambeau.nn.TripletMarginLoss(margin=1.)
        >>> anchor, positive, negative = (flambeau.tensor([[x]]) for x in (0., 1., 3.))
        >>> float(loss(anchor, positive, negative)), float(loss(anchor, negative, positive))
        (0.0, 3.0)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: margin must be positive, got {margin}")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return _f.triplet_margin_loss(
            anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip
