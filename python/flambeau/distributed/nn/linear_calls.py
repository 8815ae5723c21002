"""Collective calls as linear maps of what all processes give; the gradient of each is another.

What a process's loss has of the tensors of others comes by their backward: all must run it, and in
the same order.
"""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, contiguous_format
from flambeau.autograd import Function
from flambeau.distributed import collectives, reductions
from flambeau.distributed.combining import RedOpType, ReduceOp
from flambeau.distributed.process_group import ProcessGroup


def _weighted(grad: Tensor, op: Any, group: ProcessGroup) -> Tensor:
    """The gradient of one process's tensor, given that of a sum."""
    if op == RedOpType.AVG:
        return grad / group.size()
    return grad * op.factor if op == RedOpType.PREMUL_SUM else grad


def _copied(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=contiguous_format)


class AllReduce(Function):
    """The sum, or the mean, to all; where bits are combined, there is no gradient."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, op: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        result = _copied(tensor)
        reductions.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = AllReduce.apply(ctx.group, ReduceOp.SUM, grad)
        return None, None, _weighted(total, ctx.op, ctx.group)


class Reduce(Function):
    """The sum, or the mean, to one process; others get zeros."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, op: Any, root: int, tensor: Tensor) -> Tensor:
        ctx.group, ctx.op, ctx.root = group, op, root
        result = _copied(tensor)
        reductions.reduce(result, op=op, group=group, group_dst=root)
        return result if group.rank() == root else result.zero_()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = Broadcast.apply(ctx.group, ctx.root, grad)
        return None, None, None, _weighted(total, ctx.op, ctx.group)


class Broadcast(Function):
    """The tensor of one process to all."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, root: int, tensor: Tensor) -> Tensor:
        ctx.group, ctx.root = group, root
        result = _copied(tensor)
        collectives.broadcast(result, group=group, group_src=root)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, Reduce.apply(ctx.group, ReduceOp.SUM, ctx.root, grad)


class Gather(Function):
    """The tensors of all to one process; others get zeros."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, root: int, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.root = group, root
        results = [tensor.new_zeros(tensor.shape) for _ in group.ranks]
        given = results if group.rank() == root else None
        collectives.gather(tensor, given, group=group, group_dst=root)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, Scatter.apply(ctx.group, ctx.root, *grads)


class Scatter(Function):
    """The tensors of one process to all, one to each."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, root: int, *tensors: Tensor) -> Tensor:
        ctx.group, ctx.root = group, root
        result = tensors[0].new_empty(tensors[0].shape)
        given = list(tensors) if group.rank() == root else None
        collectives.scatter(result, given, group=group, group_src=root)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *Gather.apply(ctx.group, ctx.root, grad)


class AllGather(Function):
    """The tensors of all to all."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        results = [tensor.new_empty(tensor.shape) for _ in group.ranks]
        collectives.all_gather(results, tensor, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, ReduceScatter.apply(ctx.group, ReduceOp.SUM, *grads)


class ReduceScatter(Function):
    """The sum, or the mean, of what all have for a process."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, op: Any, *tensors: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        result = tensors[0].new_empty(tensors[0].shape)
        reductions.reduce_scatter(result, list(tensors), op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        parts = AllGather.apply(ctx.group, grad)
        return None, None, *(_weighted(part, ctx.op, ctx.group) for part in parts)


class AllToAll(Function):
    """What each has for each. `shapes`: of what comes."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, shapes: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        results = [tensors[0].new_empty(shape) for shape in shapes]
        collectives.all_to_all(results, list(tensors), group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *AllToAll.apply(ctx.group, ctx.shapes, *grads)
