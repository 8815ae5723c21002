"""Hooks that average gradients, for `DistributedDataParallel.register_comm_hook`."""

from __future__ import annotations

import enum
from functools import partial
from typing import Any

from flambeau.distributed.algorithms.ddp_comm_hooks import debugging_hooks as debugging
from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks as default
from flambeau.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as post_localSGD
from flambeau.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _with_rank(hook: Any, rank: int, group: Any) -> tuple[powerSGD.PowerSGDState, Any]:
    """The state of a hook for a group, and the hook."""
    return powerSGD.PowerSGDState(group, matrix_approximation_rank=rank), hook


class DDPCommHookType(enum.Enum):
    """The hooks by names.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import DDPCommHookType
        >>> [kind.name for kind in DDPCommHookType][:4]
        ['ALLREDUCE', 'FP16_COMPRESS', 'BF16_COMPRESS', 'POST_LOCAL_SGD']
    """

    ALLREDUCE = enum.member(default.allreduce_hook)
    FP16_COMPRESS = enum.member(default.fp16_compress_hook)
    BF16_COMPRESS = enum.member(default.bf16_compress_hook)
    POST_LOCAL_SGD = enum.member(post_localSGD.post_localSGD_hook)
    POWER_SGD = enum.member(partial(_with_rank, powerSGD.powerSGD_hook, 1))
    POWER_SGD_RANK2 = enum.member(partial(_with_rank, powerSGD.powerSGD_hook, 2))
    BATCHED_POWER_SGD = enum.member(partial(_with_rank, powerSGD.batched_powerSGD_hook, 1))
    BATCHED_POWER_SGD_RANK2 = enum.member(partial(_with_rank, powerSGD.batched_powerSGD_hook, 2))
    NOOP = enum.member(debugging.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Registers a hook for a DistributedDataParallel.

    Args:
        comm_hook_type: a `DDPCommHookType`.
        model: the DistributedDataParallel.
        state: of the hook: a group (None: all processes), or a `PostLocalSGDState`.

    Example:
        >>> from flambeau.distributed.algorithms import ddp_comm_hooks as hooks
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> hooks.register_ddp_comm_hook(hooks.DDPCommHookType.FP16_COMPRESS, model)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3
        tensor([[2.]])
    """
    hook = comm_hook_type.value
    if isinstance(hook, partial):
        state, hook = hook(state)
    model.register_comm_hook(state, hook)
