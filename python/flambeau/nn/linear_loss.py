"""The cross-entropy of features that are projected to classes on the way."""

from __future__ import annotations

import math
from typing import Any

from flambeau import Tensor
from flambeau.nn.functional.projected import (
    LinearCrossEntropyOptions as LinearCrossEntropyOptions,
)
from flambeau.nn.functional.projected import linear_cross_entropy
from flambeau.nn.linear import Linear
from flambeau.nn.loss import _Weighted


class LinearCrossEntropyLoss(_Weighted):
    """The cross-entropy of `linear(input)`, where linear is a Linear of its own.

    Args:
        in_features: size of the features.
        num_classes: C.
        out_features: dimensions of targets beyond the batch.
        bias: whether the projection has one.
        device, dtype: of the projection.
        reduction: "none", "mean" or "sum".
        weight: one factor per class.
        ignore_index: targets of this class count for nothing; None: -100, of targets that are
            classes.
        label_smoothing: share of the target that is spread over all classes.
        options: compute by chunks of the batch.

    Shapes: input (N, in_features) or (in_features), target (N, *out_features) of classes or (N, C,
    *out_features) of probabilities, without N for one sample.

    Example:
        >>> loss = flambeau.nn.LinearCrossEntropyLoss(4, num_classes=3)
        >>> value = loss(flambeau.randn(5, 4), flambeau.tensor([0, 1, 2, 0, 1]))
        >>> value.shape, loss.linear.weight.shape
        (flambeau.Size([]), flambeau.Size([3, 4]))
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        count = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, count, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        weight = self.linear.weight.reshape(*shape, self.in_features)
        bias = None if self.linear.bias is None else self.linear.bias.reshape(shape)
        return linear_cross_entropy(
            input,
            weight,
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        names = ("in_features", "num_classes", "out_features", "reduction", "ignore_index")
        shown = {name: getattr(self, name) for name in names[:3]}
        shown["bias"] = self.linear.bias is not None
        shown |= {name: getattr(self, name) for name in (*names[3:], "label_smoothing", "options")}
        return ", ".join(f"{name}={value}" for name, value in shown.items())
