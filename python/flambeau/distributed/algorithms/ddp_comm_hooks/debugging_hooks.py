"""A hook that sends nothing, for seeing what communication costs."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor
from flambeau.futures import Future
from flambeau.nn.parallel.reducer import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Leaves each process its own gradients.

    Args:
        _: accepted.
        bucket: gradients, a `GradBucket`.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import debugging_hooks
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> model.register_comm_hook(None, debugging_hooks.noop_hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad.item() == 1.0 + 2 * rank
        True
    """
    future: Future[Tensor] = Future()
    future.set_result(bucket.buffer())
    return future
