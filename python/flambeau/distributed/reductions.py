"""Calls that combine the tensors of all processes of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed import patterns
from flambeau.distributed.collectives import check_count, check_same, flattened, parts_of, root_in
from flambeau.distributed.combining import ReduceOp, Reduction
from flambeau.distributed.process_group import (
    ProcessGroup,
    Results,
    checked,
    checked_list,
    described,
)
from flambeau.distributed.work import Work
from flambeau.distributed.world import Group, joined


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Combines the tensors of all ranks; each gets the result, in place, the same bits.

    Args:
        tensor: of any shape and dtype, the same on all ranks.
        op: a ReduceOp.
        group: of processes; None: all.
        async_op: return at once, with a Work to wait for.

    Returns:
        A Work if `async_op`; None otherwise, and for processes outside the group.

    Raises:
        DistBackendError: another rank is gone or late, or calls something else.

    Example:
        >>> x = flambeau.arange(3) + flambeau.distributed.get_rank()  # in each of two processes
        >>> flambeau.distributed.all_reduce(x)
        >>> x
        tensor([1, 3, 5])
        >>> most = flambeau.distributed.ReduceOp.MAX
        >>> work = flambeau.distributed.all_reduce(x, most, async_op=True)
        >>> work.wait()
        True
    """
    return _all_reduce("all_reduce", [checked("all_reduce", "tensor", tensor)], op, group, async_op)


def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors of one dtype in one call; arguments as there.

    Example:
        >>> gradients = [flambeau.ones(2), flambeau.full((1,), 3.0)]  # in each of two processes
        >>> flambeau.distributed.all_reduce_coalesced(gradients)
        >>> gradients
        [tensor([2., 2.]), tensor([6.])]
    """
    name = "all_reduce_coalesced"
    given = checked_list(name, "tensors", [tensors] if isinstance(tensors, Tensor) else tensors)
    if not given or any(tensor.dtype != given[0].dtype for tensor in given):
        raise ValueError(f"{name}: expected tensors of one dtype, got {[t.dtype for t in given]}")
    return _all_reduce(name, given, op, group, async_op)


def _all_reduce(
    name: str, tensors: list[Tensor], op: Any, group: Group, async_op: bool
) -> Work | None:
    found = joined(group, name)
    if found is None:
        return None
    how = Reduction(name, op, tensors[0].dtype, found.size())
    results = Results(tensors)

    def act(x: Any) -> None:
        if len(results.flat) == 1:
            patterns.all_reduce(x, results.flat[0], how)
            return
        whole = flambeau.cat(results.flat)
        patterns.all_reduce(x, whole, how)
        parts = whole.split([flat.numel() for flat in results.flat])
        for flat, part in zip(results.flat, parts, strict=True):
            flat.copy_(part)

    words = ", ".join(described(tensor) for tensor in tensors)
    return found.call(f"{name}({how.kind.name}, {words})", act, results, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combines the tensors of all ranks; rank `dst` gets the result, in place.

    Args:
        tensor, op, group, async_op: as of `all_reduce`. Other ranks' tensors stay as they are.
        dst: the rank among all; or
        group_dst: the rank in the group.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> x = flambeau.tensor([1.0, 2.0])
        >>> flambeau.distributed.reduce(x, dst=1)
        >>> x.tolist() == ([2.0, 4.0] if rank == 1 else [1.0, 2.0])
        True
    """
    mine = checked("reduce", "tensor", tensor)
    found = joined(group, "reduce")
    if found is None:
        return None
    root = root_in(found, "reduce", "dst", dst, group_dst)
    how = Reduction("reduce", op, mine.dtype, found.size())
    results = Results([mine])
    return found.call(
        f"reduce({how.kind.name}, dst {root}, {described(mine)})",
        lambda x: patterns.reduce(x, results.flat[0], root, how),
        results,
        async_op,
    )


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """`output` becomes the combination of `input_list[rank]` of all ranks.

    Args:
        output: of the same shape and dtype on all ranks.
        input_list: as many tensors as ranks, of the dtype and the number of elements of output.
        op, group, async_op: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> parts, mine = [flambeau.arange(2), flambeau.arange(2, 4)], flambeau.tensor([0, 0])
        >>> flambeau.distributed.reduce_scatter(mine, parts)
        >>> mine.tolist() == [[0, 2], [4, 6]][rank]
        True
    """
    name = "reduce_scatter"
    mine = checked(name, "output", output)
    given = checked_list(name, "input_list", input_list)
    found = joined(group, name)
    if found is None:
        return None
    check_count(name, "input_list", given, found)
    check_same(name, "input_list", given, mine)
    return _reduce_scatter(found, name, mine, given, op, async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """`reduce_scatter` of a tensor, which holds the parts of all ranks one after the other.

    Args:
        output: of the same shape and dtype on all ranks.
        input: contiguous, of as many elements as all ranks' outputs together.
        op, group, async_op: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> mine = flambeau.zeros(2)
        >>> flambeau.distributed.reduce_scatter_tensor(mine, flambeau.arange(4.0))
        >>> mine.tolist() == [[0.0, 2.0], [4.0, 6.0]][rank]
        True
    """
    name = "reduce_scatter_tensor"
    mine, whole = checked(name, "output", output), checked(name, "input", input)
    found = joined(group, name)
    if found is None:
        return None
    parts = parts_of(name, whole, mine, found, "input", "output")
    return _reduce_scatter(found, name, mine, parts, op, async_op)


reduce_scatter_single = reduce_scatter_tensor


def _reduce_scatter(
    found: ProcessGroup, name: str, mine: Tensor, given: list[Tensor], op: Any, async_op: bool
) -> Work | None:
    how = Reduction(name, op, mine.dtype, found.size())
    results, sent = Results([mine]), [flattened(part) for part in given]
    return found.call(
        f"{name}({how.kind.name}, {described(mine)})",
        lambda x: patterns.reduce_scatter(x, results.flat[0], sent, how),
        results,
        async_op,
    )
