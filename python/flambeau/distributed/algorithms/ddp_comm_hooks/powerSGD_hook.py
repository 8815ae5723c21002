"""Gradients sent as products of thin matrices: PowerSGD (T. Vogels, S. Karimireddy, M. Jaggi,
PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization, 2019).

A gradient M is P Q^T, where P = M Q, with Q of the step before, is summed over processes and made
orthogonal, and Q = M^T P is averaged. What that leaves out is added to the next gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import flambeau
from flambeau import Tensor
from flambeau.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks
from flambeau.distributed.algorithms.model_averaging.utils import average_parameters
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.reductions import all_reduce
from flambeau.distributed.world import member
from flambeau.futures import Future
from flambeau.nn.parallel.reducer import GradBucket

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hooks keep from step to step, and their options.

    Args:
        process_group: None: all processes.
        matrix_approximation_rank: columns of P and Q.
        start_powerSGD_iter: steps before which gradients are sent whole; at least 2 where something
            is kept from step to step.
        min_compression_rate: a gradient with fewer times as many elements as P and Q is sent whole.
        use_error_feedback: whether what is left out is added to the next gradient.
        warm_start: whether Q begins as that of the step before.
        orthogonalization_epsilon: added to the lengths of columns; 0: by a QR decomposition.
        random_seed: of the first Q, the same in all processes.
        compression_stats_logging_frequency, batch_tensors_with_same_shape: accepted: nothing is
            logged, and results do not depend on what is computed together.

    Raises:
        ValueError: for a start_powerSGD_iter below 2 where something is kept.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
        >>> PowerSGDState(None, matrix_approximation_rank=2).compression_stats()
        (0.0, 0, 0)
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "PowerSGDState: start_powerSGD_iter must be at least 2 with use_error_feedback or "
                "warm_start: buckets are others after the first step"
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.random_seed = random_seed
        self.iter = 0
        self.error_dict: dict[int, Tensor] = {}
        self.q_dict: dict[tuple[int, int], Tensor] = {}  # of a bucket's matrix
        self.total_numel_before_compression = self.total_numel_after_compression = 0
        self._generator = flambeau.Generator().manual_seed(random_seed)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts a step at its last bucket."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """How many times fewer elements were sent, how many there were, how many were sent."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after

    def approximated(self, key: tuple[int, int], matrix: Tensor, rank: int, count: int) -> Tensor:
        """The average of a matrix over processes, of a lower rank."""
        q = self.q_dict.get(key)
        if q is None or not self.warm_start:
            shape = (matrix.shape[1], rank)
            q = flambeau.randn(shape, generator=self._generator).to(matrix.dtype)
        q = _orthogonal(q, self.orthogonalization_epsilon)
        p = matrix @ q
        all_reduce(p, group=self.process_group)
        p = _orthogonal(p, self.orthogonalization_epsilon)
        q = matrix.mT @ p
        all_reduce(q, group=self.process_group)
        q /= count
        self.q_dict[key] = q
        self.total_numel_before_compression += matrix.numel()
        self.total_numel_after_compression += p.numel() + q.numel()
        return p @ q.mT


def _orthogonal(matrix: Tensor, epsilon: float) -> Tensor:
    if epsilon == 0:
        return flambeau.linalg.qr(matrix).Q
    columns: list[Tensor] = []
    for column in matrix.unbind(1):
        for other in columns:
            column = column - (other @ column) * other
        columns.append(column / (column.norm() + epsilon))
    return flambeau.stack(columns, 1)


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Sends each gradient of two dims or more as P and Q; those of one are sent whole.

    The call returns when the gradients are there.

    Args:
        state: a `PowerSGDState`.
        bucket: gradients, a `GradBucket`.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> model.register_comm_hook(power.PowerSGDState(None), power.powerSGD_hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad  # the average of 1 and 3: the first 1,000 steps send it whole
        tensor([[2.]])
    """
    return _sent(state, bucket, _replace_each)


def _replace_each(state: PowerSGDState, bucket: GradBucket) -> None:
    processes = _size(state)
    matrices = [gradient.view(max(len(gradient), 1), -1) for gradient in _parts(bucket)]
    whole: list[Tensor] = []
    for number, matrix in enumerate(matrices):
        rows, columns = matrix.shape
        rank = min(rows, columns, state.matrix_approximation_rank)
        if (rows + columns) * rank * state.min_compression_rate >= matrix.numel():
            whole.append(matrix)
            continue
        key = (bucket.index(), number)
        matrix.copy_(state.approximated(key, matrix, rank, processes))
    if whole:
        average_parameters(iter(whole), state.process_group)
        count = sum(matrix.numel() for matrix in whole)
        state.total_numel_before_compression += count
        state.total_numel_after_compression += count


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Sends all gradients of a bucket as one square matrix's P and Q: faster, and less exact.

    Args:
        state: a `PowerSGDState`.
        bucket: gradients, a `GradBucket`.

    Example:
        >>> from flambeau.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> layer = flambeau.nn.Linear(1, 1)
        >>> model = flambeau.nn.parallel.DistributedDataParallel(layer)
        >>> model.register_comm_hook(power.PowerSGDState(None), power.batched_powerSGD_hook)
        >>> model(flambeau.tensor([[1.0 + 2 * rank]])).sum().backward()
        >>> layer.weight.grad
        tensor([[2.]])
    """
    return _sent(state, bucket, _replace_all)


def _replace_all(state: PowerSGDState, bucket: GradBucket) -> None:
    buffer = bucket.buffer()
    side = math.isqrt(max(buffer.numel() - 1, 0)) + 1
    square = buffer.new_zeros(side * side)
    square[: buffer.numel()] = buffer
    rank = min(side, state.matrix_approximation_rank)
    found = state.approximated((bucket.index(), 0), square.view(side, side), rank, _size(state))
    buffer.copy_(found.reshape(-1)[: buffer.numel()])


def _sent(
    state: PowerSGDState, bucket: GradBucket, replace: Callable[[PowerSGDState, GradBucket], None]
) -> Future[Tensor]:
    """A step: whole at first, then as `replace` makes averages of what the buffer holds."""
    is_whole = state.iter < state.start_powerSGD_iter
    state.maybe_increase_iter(bucket)
    if is_whole:
        return default_hooks.allreduce_hook(state.process_group, bucket)
    buffer = bucket.buffer()
    wanted = None
    if state.use_error_feedback:
        error = state.error_dict.get(bucket.index())
        if error is not None:
            buffer += error
        wanted = buffer.clone()
    replace(state, bucket)
    if wanted is not None:
        state.error_dict[bucket.index()] = wanted - buffer
    return debugging_hooks.noop_hook(state, bucket)


def _size(state: PowerSGDState) -> int:
    group = member(state.process_group)
    if group is None:
        raise RuntimeError("powerSGD_hook: this process is no member of its group")
    return group.size()


def _parts(bucket: GradBucket) -> list[Tensor]:
    """The gradients, in the buffer's memory; numbers are vectors of one element."""
    return [g if g.dim() else g.view(1) for g in bucket.gradients()]
