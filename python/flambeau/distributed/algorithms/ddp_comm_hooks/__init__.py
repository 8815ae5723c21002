"""Hooks that average gradients, for `DistributedDataParallel.register_comm_hook`."""

from __future__ import annotations

import enum
from typing import Any

from flambeau.distributed.algorithms.ddp_comm_hooks import debugging_hooks as debugging
from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks as default

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class DDPCommHookType(enum.Enum):
    """The hooks by names.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import DDPCommHookType
        >>> [kind.name for kind in DDPCommHookType]
        ['ALLREDUCE', 'FP16_COMPRESS', 'BF16_COMPRESS', 'NOOP']
    """

    ALLREDUCE = enum.member(default.allreduce_hook)
    FP16_COMPRESS = enum.member(default.fp16_compress_hook)
    BF16_COMPRESS = enum.member(default.bf16_compress_hook)
    NOOP = enum.member(debugging.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Registers a hook for a DistributedDataParallel. `state`: of the hook, None: all processes.

    Args:
        comm_hook_type: a `DDPCommHookType`.
        model: the DistributedDataParallel.

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
    model.register_comm_hook(state, comm_hook_type.value)
