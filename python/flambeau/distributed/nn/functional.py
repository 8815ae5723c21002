"""Collective calls that return their results, and are recorded for backward.

The gradient of a tensor is that of the sum of all processes' losses. Backward makes collective
calls itself: all processes of the group must run it, through the same calls in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed.collectives import (
    check_count,
    check_same,
    parts_of,
    root_in,
    rows_of,
)
from flambeau.distributed.combining import RedOpType, ReduceOp, Reduction
from flambeau.distributed.nn import linear_calls as calls
from flambeau.distributed.process_group import ProcessGroup, checked, checked_list
from flambeau.distributed.world import Group, get_rank, member

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

# What is no linear map is made of the tensors of all.
_OF_ALL: dict[RedOpType, Callable[[Tensor], Tensor]] = {
    RedOpType.PRODUCT: lambda stacked: stacked.prod(0),
    RedOpType.MIN: lambda stacked: stacked.amin(0),
    RedOpType.MAX: lambda stacked: stacked.amax(0),
}


def _group(group: Group, operation: str) -> ProcessGroup:
    found = member(group)
    if found is None:
        raise ValueError(f"{operation}: process {get_rank()} is no member of the group")
    return found


def _of_all(operation: str, op: Any, like: Tensor, group: ProcessGroup) -> Any:
    return _OF_ALL.get(Reduction(operation, op, like.dtype, group.size()).kind)


def _written(outputs: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    with flambeau.no_grad():
        for output, result in zip(outputs, results, strict=True):
            output.copy_(result.view(output.shape))


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Group = None) -> Tensor:
    """The combination of the tensors of all ranks.

    Args:
        tensor: of the same shape and dtype on all ranks.
        op: a ReduceOp. Of equally small ones (MIN, MAX) each has its part of the gradient.
        group: of processes; None: all.

    Raises:
        ValueError: this process is no member of the group.
        DistBackendError: another rank is gone or late, or calls something else; in backward too.

    Example:
        >>> from flambeau.distributed.nn import functional as F
        >>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)  # in each of two processes
        >>> F.all_reduce(x).square().sum().backward()  # of (2 x)², in both
        >>> x.grad
        tensor([ 8., 16.])
    """
    checked("all_reduce", "tensor", tensor)
    found = _group(group, "all_reduce")
    combine = _of_all("all_reduce", op, tensor, found)
    if combine is None:
        return calls.AllReduce.apply(found, op, tensor)
    return combine(flambeau.stack(all_gather(tensor, found)))


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Group = None) -> Tensor:
    """The combination of the tensors of all ranks on rank `dst`. Others get a copy of their own,
    through which no gradient comes.

    Args:
        tensor, op, group: as of `all_reduce`.
        dst: the rank among all.

    Example:
        >>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)  # in each of two processes
        >>> flambeau.distributed.nn.functional.reduce(x, dst=0).square().sum().backward()
        >>> x.grad
        tensor([4., 8.])
    """
    checked("reduce", "tensor", tensor)
    found = _group(group, "reduce")
    root = root_in(found, "reduce", "dst", dst, None)
    combine = _of_all("reduce", op, tensor, found)
    if combine is None:
        result = calls.Reduce.apply(found, op, root, tensor)
    else:
        result = combine(flambeau.stack(calls.Gather.apply(found, root, tensor)))
    # Others have zeros so far, whose backward takes part.
    return result if found.rank() == root else result + tensor.detach()


def broadcast(tensor: Tensor, src: int, group: Group = None) -> Tensor:
    """The tensor of rank `src`, which alone gets a gradient: the sum of all.

    Args:
        tensor: of the same shape and dtype on all ranks.
        src: the rank among all.
        group: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> x = flambeau.tensor([1.0 + rank], requires_grad=True)
        >>> flambeau.distributed.nn.functional.broadcast(x, src=0).square().sum().backward()
        >>> x.grad.item() == (4.0 if rank == 0 else 0.0)
        True
    """
    checked("broadcast", "tensor", tensor)
    found = _group(group, "broadcast")
    return calls.Broadcast.apply(found, root_in(found, "broadcast", "src", src, None), tensor)


def gather(tensor: Tensor, dst: int = 0, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks on rank `dst`; zeros on others.

    Args:
        tensor: of the same shape and dtype on all ranks.
        dst: the rank among all.
        group: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> first, second = flambeau.distributed.nn.functional.gather(x, dst=0)
        >>> (first + 5 * second).sum().backward()
        >>> x.grad.item() == 1 + 4 * rank
        True
    """
    checked("gather", "tensor", tensor)
    found = _group(group, "gather")
    return tuple(calls.Gather.apply(found, root_in(found, "gather", "dst", dst, None), tensor))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Group = None) -> Tensor:
    """This rank's tensor of those of rank `src`.

    Args:
        tensors: one for each rank, all of one shape and dtype, on other ranks than `src` too: they
            say what comes, and get zeros for gradients.
        src: the rank among all.
        group: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> parts = [flambeau.ones(1, requires_grad=True) for _ in range(2)]
        >>> mine = flambeau.distributed.nn.functional.scatter(parts, src=0)
        >>> (mine * (3 + rank)).sum().backward()
        >>> [x.grad.item() for x in parts] == ([3.0, 4.0] if rank == 0 else [0.0, 0.0])
        True
    """
    given = checked_list("scatter", "tensors", tensors)
    found = _group(group, "scatter")
    check_count("scatter", "tensors", given, found)
    check_same("scatter", "tensors", given, given[0])
    return calls.Scatter.apply(found, root_in(found, "scatter", "src", src, None), *tensors)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Group = None
) -> Tensor:
    """The combination of what all ranks have for this one.

    Args:
        output: of the same shape and dtype on all ranks; is written to as well, and not recorded.
        input_list: a tensor for each rank, like `output`.
        op, group: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> parts = [flambeau.ones(1, requires_grad=True) for _ in range(2)]
        >>> F = flambeau.distributed.nn.functional
        >>> (F.reduce_scatter(flambeau.zeros(1), parts) * (1 + rank)).sum().backward()
        >>> [x.grad.item() for x in parts]
        [1.0, 2.0]
    """
    name = "reduce_scatter"
    mine, given = checked(name, "output", output), checked_list(name, "input_list", input_list)
    found = _group(group, name)
    check_count(name, "input_list", given, found)
    check_same(name, "input_list", given, mine)
    combine = _of_all(name, op, mine, found)
    if combine is None:
        result = calls.ReduceScatter.apply(found, op, *input_list)
    else:
        come = calls.AllToAll.apply(found, [mine.shape] * found.size(), *input_list)
        result = combine(flambeau.stack(come))
    result = result.view(output.shape)
    _written([output], [result])
    return result


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks.

    Args:
        tensor: of the same shape and dtype on all ranks.
        group: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> x = flambeau.tensor([1.0 + rank], requires_grad=True)
        >>> first, second = flambeau.distributed.nn.functional.all_gather(x)
        >>> (first * second).sum().backward()  # 1 · 2 in both: gradients of both losses add up
        >>> x.grad.item() == (4.0 if rank == 0 else 2.0)
        True
    """
    checked("all_gather", "tensor", tensor)
    return tuple(calls.AllGather.apply(_group(group, "all_gather"), tensor))


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Group = None) -> Tensor:
    """The tensors of all ranks one after the other, as `all_gather_into_tensor`."""
    name = "_all_gather_base"
    whole, mine = checked(name, "output_tensor", output_tensor), checked(name, "in", input_tensor)
    found = _group(group, name)
    parts_of(name, whole, mine, found, "output_tensor", "input_tensor")
    result = flambeau.stack(all_gather(input_tensor, found)).view(output_tensor.shape)
    _written([output_tensor], [result])
    return result


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Group = None
) -> tuple[Tensor, ...]:
    """What every rank has for this one.

    Args:
        output_tensor_list: of the shapes that come; are written to as well, and not recorded.
        input_tensor_list: a tensor for each rank, all of one dtype.
        group: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> sent = [flambeau.ones(1, requires_grad=True) for _ in range(2)]
        >>> come = flambeau.distributed.nn.functional.all_to_all([flambeau.zeros(1)] * 2, sent)
        >>> (flambeau.cat(come) * (1 + rank)).sum().backward()
        >>> [x.grad.item() for x in sent]
        [1.0, 2.0]
    """
    name = "all_to_all"
    outputs = checked_list(name, "output_tensor_list", output_tensor_list)
    inputs = checked_list(name, "input_tensor_list", input_tensor_list)
    found = _group(group, name)
    check_count(name, "output_tensor_list", outputs, found)
    check_count(name, "input_tensor_list", inputs, found)
    shapes = [output.shape for output in outputs]
    results = calls.AllToAll.apply(found, shapes, *input_tensor_list)
    _written(output_tensor_list, results)
    return tuple(results)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Group = None,
) -> Tensor:
    """`all_to_all` of the parts of a tensor along its first dimension.

    Args:
        output: contiguous; is written to as well, and not recorded.
        input: of the dtype of `output`.
        output_split_sizes, input_split_sizes: rows that come from and go to each rank; None:
            equally many.
        group: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> x = flambeau.arange(2.0).requires_grad_()
        >>> come = flambeau.distributed.nn.functional.all_to_all_single(flambeau.empty(2), x)
        >>> (come * (1 + rank)).sum().backward()
        >>> x.grad
        tensor([1., 2.])
    """
    name = "all_to_all_single"
    checked(name, "output", output)
    checked(name, "input", input)
    found = _group(group, name)
    outputs = rows_of(name, "output", output, output_split_sizes, found)
    inputs = rows_of(name, "input", input.contiguous(), input_split_sizes, found)
    result = flambeau.cat(calls.AllToAll.apply(found, [x.shape for x in outputs], *inputs))
    _written([output], [result])
    return result
