"""Hooks that average gradients as they are, or send them as halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.reductions import all_reduce
from flambeau.distributed.world import member
from flambeau.futures import Future
from flambeau.nn.parallel.reducer import GradBucket

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _averaged(process_group: ProcessGroup | None, tensor: Tensor) -> Future[Tensor]:
    """A future of the average over a group; the tensor is written to."""
    group = member(process_group)
    if group is None:
        raise RuntimeError("a communication hook: this process is no member of its group")
    work = all_reduce(tensor.div_(group.size()), group=group, async_op=True)
    assert work is not None
    return work.get_future().then(_only)


def _only(done: Future[list[Any]]) -> Tensor:
    (tensor,) = done.value()
    result: Tensor = tensor
    return result


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients over a group; None: all processes.

    Args:
        process_group: None: all processes.
        bucket: gradients, a `GradBucket`.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> model.register_comm_hook(None, default_hooks.allreduce_hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3
        tensor([[2.]])
    """
    return _averaged(process_group, bucket.buffer())


def _compressed(
    dtype: flambeau.dtype, process_group: ProcessGroup | None, bucket: GradBucket
) -> Future[Tensor]:
    buffer = bucket.buffer()
    return _averaged(process_group, buffer.to(dtype)).then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Sends gradients as float16, and averages them so; None: among all processes.

    Args:
        process_group: None: all processes.
        bucket: gradients, a `GradBucket`.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3
        tensor([[2.]])
    """
    return _compressed(flambeau.float16, process_group, bucket)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Sends gradients as bfloat16, and averages them so; None: among all processes.

    Args:
        process_group: None: all processes.
        bucket: gradients, a `GradBucket`.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> model.register_comm_hook(None, default_hooks.bf16_compress_hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3
        tensor([[2.]])
    """
    return _compressed(flambeau.bfloat16, process_group, bucket)


def _wrapped(dtype: flambeau.dtype, hook: Hook) -> Hook:
    def compressing(state: Any, bucket: GradBucket) -> Future[Tensor]:
        buffer = bucket.buffer()
        short = bucket.with_buffer(buffer.to(dtype))
        return hook(state, short).then(lambda done: buffer.copy_(done.value()))

    return compressing


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that hands gradients to another one as float16.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> hook = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)
        >>> model.register_comm_hook(None, hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3
        tensor([[2.]])
    """
    return _wrapped(flambeau.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that hands gradients to another one as bfloat16.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> hook = default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)
        >>> model.register_comm_hook(None, hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3
        tensor([[2.]])
    """
    return _wrapped(flambeau.bfloat16, hook)
