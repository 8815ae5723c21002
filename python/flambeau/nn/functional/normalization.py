"""Instance normalization. It writes back the means of running statistics, which a body cannot."""

from __future__ import annotations

import math

import flambeau
from flambeau import _C, Tensor

__all__ = ["instance_norm"]


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the pixels of each sample and channel.

    It is batch normalization of one sample with N * C channels.

    Args:
        input: (N, C, ...).
        running_mean, running_var: (C,), updated when use_input_stats.
        weight, bias: (C,).
        use_input_stats: False: normalize with the running statistics.
    """
    batch_norm = _C.nn.functional.batch_norm
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if input.dim() < 3 or math.prod(input.shape[2:]) < 2:
        raise ValueError(
            "instance_norm: expected more than one pixel per channel, got shape "
            f"{tuple(input.shape)}"
        )
    samples, channels, *pixels = input.shape
    mean = None if running_mean is None else running_mean.repeat([samples])
    variance = None if running_var is None else running_var.repeat([samples])
    flat = input.reshape([1, samples * channels, *pixels])
    factor = None if weight is None else weight.repeat([samples])
    shift = None if bias is None else bias.repeat([samples])
    result = batch_norm(flat, mean, variance, factor, shift, True, momentum, eps)
    with flambeau.no_grad():
        for running, seen in ((running_mean, mean), (running_var, variance)):
            if running is not None and seen is not None:
                running.copy_(seen.reshape([samples, channels]).mean(0))
    return result.reshape(input.shape)
