"""Local SGD after some steps (T. Lin, S. Stich, K. Patel, M. Jaggi, Don't Use Large Mini-Batches,
Use Local SGD, 2018): gradients are averaged within a group, and models now and then among all.
"""

from __future__ import annotations

from flambeau import Tensor
from flambeau.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks
from flambeau.distributed.process_group import ProcessGroup
from flambeau.futures import Future
from flambeau.nn.parallel.reducer import GradBucket

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """The groups of `post_localSGD_hook`, and its steps so far.

    Args:
        process_group: in which gradients are averaged at first; None: all processes.
        subgroup: in which they are averaged later.
        start_localSGD_iter: the step that is the first of these.
        post_local_gradient_allreduce: False: later, each process keeps its own.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as local
        >>> local.PostLocalSGDState(None, None, start_localSGD_iter=100).iter
        0
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts a step at its last bucket."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients in the group of all, and from a step on in a smaller one.

    Args:
        state: a `PostLocalSGDState`.
        bucket: gradients, a `GradBucket`.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as local
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> state = local.PostLocalSGDState(None, None, start_localSGD_iter=100)
        >>> model.register_comm_hook(state, local.post_localSGD_hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3
        tensor([[2.]])
    """
    is_local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not is_local:
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return debugging_hooks.noop_hook(state, bucket)
    return default_hooks.allreduce_hook(state.subgroup, bucket)
