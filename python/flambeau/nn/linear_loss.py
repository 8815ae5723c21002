"""The cross-entropy of features that are projected to classes on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.autograd import Function
from flambeau.autograd.function import once_differentiable
from flambeau.nn import functional as F
from flambeau.nn.linear import Linear
from flambeau.nn.loss import _Weighted

# The functions are generated from declarations: type checkers do not see them in F.
_f: Any = F
_POLICIES = ("accurate", "balanced", "compact", "auto")
_ROWS_PER_FEATURE = 2.0  # of "auto"


@dataclass
class LinearCrossEntropyOptions:
    """Computing the loss by chunks of the batch, so that scores of the whole batch are never there:
    for many classes. Gradients are computed with the loss; derivatives of them are an error.

    Args:
        allow_retain_graph: accepted; going backward again is allowed in any case.
        batch_chunk_size: rows of a chunk; None: chunking_method says.
        chunking_method: "aspect_ratio:R": R rows for each feature; "auto": R is 2; None: one chunk.
        acc_policy: what gradients of the projection are summed in: "compact", their own dtype; the
            others, float32 at least.
        acc_dtype: that dtype itself.

    Raises:
        ValueError: for other values.

    Example:
        >>> options = flambeau.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
        >>> loss = flambeau.nn.LinearCrossEntropyLoss(4, num_classes=3, options=options)
        >>> loss(flambeau.zeros(5, 4), flambeau.tensor([0, 1, 2, 0, 1])).detach()  # log(3)
        tensor(1.0986)
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: flambeau.dtype | None = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(
                f"LinearCrossEntropyOptions: batch_chunk_size must be None or positive, got {size}"
            )
        if self.acc_policy not in _POLICIES:
            raise ValueError(
                f"LinearCrossEntropyOptions: acc_policy must be one of {_POLICIES}, got "
                f"{brief(self.acc_policy)}"
            )
        self._ratio()

    def _ratio(self) -> float:
        """Rows for each feature."""
        if self.chunking_method is None:
            return math.inf
        if self.chunking_method == "auto":
            return _ROWS_PER_FEATURE
        name, _, number = str(self.chunking_method).partition(":")
        try:
            ratio = float(number)
        except ValueError:
            ratio = 0.0
        if name != "aspect_ratio" or not ratio > 0:
            raise ValueError(
                "LinearCrossEntropyOptions: chunking_method must be None, 'auto' or "
                f"'aspect_ratio:R' with a positive R, got {brief(self.chunking_method)}"
            )
        return ratio

    def rows(self, batch: int, features: int) -> int:
        """How many rows a chunk has."""
        wanted = self.batch_chunk_size or min(batch, self._ratio() * features)
        return max(1, int(wanted))

    def sums_in(self, dtype: flambeau.dtype) -> flambeau.dtype:
        """The dtype that gradients of the projection are summed in."""
        if self.acc_dtype is not None:
            return self.acc_dtype
        if self.acc_policy == "compact":
            return dtype
        return flambeau.promote_types(dtype, flambeau.float32)


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
        options: compute by chunks; of features [n, in_features] and no out_features.

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
        if self.options is not None and input.dim() == 2 and not self.out_features:
            return self._chunked(input, weight, bias, target)
        return self._loss(input, weight, bias, target, self.reduction)

    def _loss(
        self, input: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor, reduction: str
    ) -> Tensor:
        loss: Tensor = _f.linear_cross_entropy(
            input,
            weight,
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )
        return loss

    def _chunked(
        self, input: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor
    ) -> Tensor:
        if self.reduction == "none":
            rows = self._rows(input)
            parts = zip(input.split(rows), target.split(rows), strict=True)
            return flambeau.cat([self._loss(x, weight, bias, t, "none") for x, t in parts])
        loss = _ChunkedSum.apply(self, target, input, weight, bias)
        return loss / self._count(input, target) if self.reduction == "mean" else loss

    def _rows(self, input: Tensor) -> int:
        assert self.options is not None
        return self.options.rows(input.shape[0], self.in_features)

    def _count(self, input: Tensor, target: Tensor) -> Tensor | int:
        """What the mean divides by: the weights of the classes that count, or the samples."""
        if target.is_floating_point():
            return input.shape[0]
        ignored = -100 if self.ignore_index is None else self.ignore_index
        counts = target != ignored
        if self.weight is None:
            return counts.sum()
        return self.weight[target.where(counts, 0)].where(counts, 0).sum()

    def extra_repr(self) -> str:
        names = ("in_features", "num_classes", "out_features", "reduction", "ignore_index")
        shown = {name: getattr(self, name) for name in names[:3]}
        shown["bias"] = self.linear.bias is not None
        shown |= {name: getattr(self, name) for name in (*names[3:], "label_smoothing", "options")}
        return ", ".join(f"{name}={value}" for name, value in shown.items())


class _ChunkedSum(Function):
    """The sum of the losses, and its gradients, chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any,
        loss: LinearCrossEntropyLoss,
        target: Tensor,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
    ) -> Tensor:
        rows = loss._rows(input)
        assert loss.options is not None
        leaves = [t.detach().requires_grad_() for t in (weight, bias) if t is not None]
        kind = loss.options.sums_in(weight.dtype)
        sums = [flambeau.zeros_like(leaf, dtype=kind) for leaf in leaves]
        total = flambeau.zeros([], dtype=input.dtype, device=input.device)
        own_bias = None if bias is None else leaves[1]
        grads = []
        for part, wanted in zip(input.split(rows), target.split(rows), strict=True):
            with flambeau.enable_grad():
                x = part.detach().requires_grad_()
                found = loss._loss(x, leaves[0], own_bias, wanted, "sum")
                grad, *others = flambeau.autograd.grad(found, [x, *leaves])
            total += found.detach()
            grads.append(grad)
            for into, other in zip(sums, others, strict=True):
                into += other
        ctx.save_for_backward(
            flambeau.cat(grads) if grads else flambeau.zeros_like(input),
            *[s.to(leaf.dtype) for s, leaf in zip(sums, leaves, strict=True)],
        )
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        grads = [grad * grad_output for grad in ctx.saved_tensors]
        return None, None, *grads, *[None] * (3 - len(grads))
