"""Batch normalization by the statistics of all processes."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.autograd import Function
from flambeau.distributed import all_reduce
from flambeau.distributed.process_group import ProcessGroup


class _Sum(Function):
    """The sum over all processes; so is its gradient, as every process has used the result."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        total = tensor.clone()
        all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = grad.clone()
        all_reduce(total, group=ctx.group)
        return total, None


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
    group: ProcessGroup,
) -> Tensor:
    """`nn.functional.batch_norm` in training, of the batches of all processes as one.

    Args:
        input: (N, C, ...); N may differ between processes.
        running_mean, running_var: (C,), moved towards the statistics.
        weight, bias: (C,) or None.
        momentum, eps: as there.
        group: of processes.

    Raises:
        ValueError: all processes together have one value per channel.
    """
    x = input.float() if input.dtype in (flambeau.float16, flambeau.bfloat16) else input
    channels = input.shape[1]
    shape = [1, channels] + [1] * (input.dim() - 2)
    over = [0, *range(2, input.dim())]
    count = x.new_full((1,), input.numel() // channels)
    sums = _Sum.apply(flambeau.cat([x.sum(over), count]), group)
    total = sums[-1].item()
    if total <= 1:
        raise ValueError(
            f"SyncBatchNorm: expected more than 1 value per channel in training, got {total:.0f} "
            "in all processes together"
        )
    mean = sums[:-1] / total
    centred = x - mean.view(shape)
    # Of what is left after the mean: squares of large values would lose digits.
    variance = _Sum.apply((centred * centred).sum(over), group) / total
    result = centred * (variance + eps).rsqrt().view(shape)
    if weight is not None:
        result = result * weight.view(shape)
    if bias is not None:
        result = result + bias.view(shape)
    with flambeau.no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.detach().to(running_mean.dtype), momentum)
        if running_var is not None:
            unbiased = variance.detach() * (total / (total - 1))
            running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    return result.to(input.dtype)
