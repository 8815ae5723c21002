"""The cross-entropy of projected features by chunks of the batch, whose options are an object that
no signature holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau._values import brief
from flambeau.autograd import Function
from flambeau.autograd.function import once_differentiable

_whole: Any = _C._internal.projected_cross_entropy
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


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    options: LinearCrossEntropyOptions | None = None,
    **about: Any,
) -> Tensor:
    """The cross-entropy of features that are projected to logits.

    Args:
        input: features, [n, f] or [f].
        linear_weight: the projection, [classes, ..., f].
        target: true classes, [n, ...], or probabilities, [n, classes, ...].
        options: compute by chunks of the batch; features [f] are one. Where probabilities need
            gradients, the batch is computed at once.
        about: linear_bias, [classes, ...]; weight, one factor per class; reduction, "none", "mean"
            or "sum"; ignore_index, a class that counts for nothing; label_smoothing, the share of
            the target that is spread over all classes.

    Returns:
        A number, or with reduction "none" one loss per target.

    Raises:
        RuntimeError: shapes do not agree, or probabilities have an ignore_index.
        ValueError: there is not a target for each row, or the reduction is unknown.

    Example:
        >>> F, options = flambeau.nn.functional, flambeau.nn.LinearCrossEntropyOptions()
        >>> x, weight = flambeau.zeros(5, 2), flambeau.ones(3, 2)
        >>> F.linear_cross_entropy(x, weight, flambeau.tensor([0, 1, 2, 0, 1]), options=options)
        tensor(1.0986)
    """
    if options is None:
        whole: Tensor = _whole(input, linear_weight, target, **about)
        return whole
    if not isinstance(options, LinearCrossEntropyOptions):
        raise TypeError(
            "linear_cross_entropy(): argument 'options' must be LinearCrossEntropyOptions or None, "
            f"not {type(options).__name__}"
        )
    chunks = _Chunks(options, **about)
    if not chunks.divide(input, target):
        return chunks.loss(input, linear_weight, chunks.bias, target, chunks.reduction)
    if chunks.reduction == "none":
        parts = chunks.of(input, target)
        return flambeau.cat(
            [chunks.loss(x, linear_weight, chunks.bias, t, "none") for x, t in parts]
        )
    found: Tensor = _ByChunks.apply(chunks, target, input, linear_weight, chunks.bias)
    return found


class _Chunks:
    """A call's options, and what else it says."""

    def __init__(
        self,
        options: LinearCrossEntropyOptions,
        *,
        linear_bias: Tensor | None = None,
        reduction: str = "mean",
        **about: Any,
    ) -> None:
        self.options = options
        self.bias = linear_bias
        self.reduction = reduction
        self._about = about

    def divide(self, input: Tensor, target: Tensor) -> bool:
        """Whether there are rows, each with a target that needs no gradient, and a reduction that
        is known; all else is the operator's to compute, or to refuse.
        """
        return (
            input.dim() == 2
            and not (target.requires_grad and flambeau.is_grad_enabled())
            and input.shape[0] > 0
            and target.shape[:1] == input.shape[:1]
            and self.reduction in ("none", "mean", "sum")
        )

    def of(self, input: Tensor, target: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows that belong together, and their targets."""
        rows = self.options.rows(*input.shape)
        return zip(input.split(rows), target.split(rows), strict=True)

    def loss(
        self, input: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor, reduction: str
    ) -> Tensor:
        """Of some rows."""
        found: Tensor = _whole(
            input, weight, target, linear_bias=bias, reduction=reduction, **self._about
        )
        return found

    def count(self, target: Tensor, classes: int) -> Tensor | float:
        """What the sum is divided by: for the mean the weights of the classes that count, of
        probabilities the number of targets.
        """
        if self.reduction == "sum":
            return 1.0
        if target.is_floating_point():
            return target.numel() / classes
        ignored, weight = self._about.get("ignore_index"), self._about.get("weight")
        counts = target != (-100 if ignored is None else ignored)
        if weight is None:
            return counts.sum()
        known: Tensor = weight[target.where(counts, 0)].where(counts, 0)
        return known.sum()


class _ByChunks(Function):
    """The sum or the mean of the losses, and where they are asked for its gradients, chunk by
    chunk.
    """

    @staticmethod
    def forward(
        ctx: Any,
        chunks: _Chunks,
        target: Tensor,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
    ) -> Tensor:
        asked = ctx.needs_input_grad[2:]
        exact = flambeau.promote_types(input.dtype, flambeau.float32)
        total = flambeau.zeros([], dtype=exact, device=input.device)
        fixed = [_leaf(weight, asked[1]), _leaf(bias, asked[2])]
        rows: list[Tensor] = []
        sums = [
            flambeau.zeros_like(one, dtype=chunks.options.sums_in(one.dtype))
            for one in fixed
            if _is_asked(one)
        ]
        for part, wanted in chunks.of(input, target):
            x = _leaf(part, asked[0])
            leaves = [one for one in (x, *fixed) if _is_asked(one)]
            with flambeau.set_grad_enabled(bool(leaves)):
                found = chunks.loss(x, fixed[0], fixed[1], wanted, "sum")
            total += found.detach()
            grads = list(flambeau.autograd.grad(found, leaves)) if leaves else []
            if asked[0]:
                rows.append(grads.pop(0))
            for into, grad in zip(sums, grads, strict=True):
                into += grad
        count = chunks.count(target, weight.shape[0])  # of targets that the losses found valid
        given = [one for one in fixed if _is_asked(one)]
        shared = [(s / count).to(one.dtype) for s, one in zip(sums, given, strict=True)]
        ctx.save_for_backward(*([flambeau.cat(rows) / count] if rows else []), *shared)
        return (total / count).to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        saved = iter(ctx.saved_tensors)
        asked = ctx.needs_input_grad[2:]
        return None, None, *[next(saved) * grad_output if one else None for one in asked]


def _leaf(tensor: Any, is_asked: bool) -> Any:
    """The tensor without history, which a gradient is asked of where `is_asked`."""
    return None if tensor is None else tensor.detach().requires_grad_(is_asked)


def _is_asked(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.requires_grad
