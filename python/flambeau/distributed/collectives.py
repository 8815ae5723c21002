"""Calls by which the processes of a group exchange tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor
from flambeau.distributed import patterns
from flambeau.distributed.process_group import (
    ProcessGroup,
    Results,
    checked,
    checked_list,
    described,
)
from flambeau.distributed.work import Work
from flambeau.distributed.world import Group, joined


def root_in(
    group: ProcessGroup,
    operation: str,
    name: str,
    rank: Any,
    in_group: Any,
    default: int | None = None,
) -> int:
    """The rank in the group of a process that is given by its rank among all, or in the group.

    Args:
        default: the rank among all where neither is given; None: one is needed.
    """
    if rank is not None and in_group is not None:
        raise ValueError(f"{operation}: give {name} or group_{name}, not both")
    if in_group is not None:
        if not 0 <= in_group < group.size():
            raise ValueError(
                f"{operation}: group_{name} must be within [0, {group.size() - 1}], got {in_group}"
            )
        return int(in_group)
    rank = default if rank is None else rank
    if rank is None:
        raise ValueError(f"{operation}: {name} or group_{name} is needed")
    if rank not in group.ranks:
        raise ValueError(f"{operation}: {name} {rank} is not among the ranks {group.ranks}")
    return group.ranks.index(rank)


def flattened(tensor: Tensor) -> Tensor:
    return tensor.contiguous().reshape(-1)


def check_same(operation: str, name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    """Checks that tensors have the dtype and the number of elements of another one."""
    for i, tensor in enumerate(tensors):
        if tensor.dtype != like.dtype or tensor.numel() != like.numel():
            raise ValueError(
                f"{operation}: {name}[{i}] must be as the other tensors, {described(like)}, got "
                f"{described(tensor)}"
            )


def check_count(operation: str, name: str, tensors: Sequence[Tensor], group: ProcessGroup) -> None:
    if len(tensors) != group.size():
        raise ValueError(
            f"{operation}: {name} must have a tensor for each of the {group.size()} ranks, got "
            f"{len(tensors)}"
        )


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copies the tensor of rank `src` to all, in place.

    Args:
        tensor: of the same shape and dtype on all ranks.
        src: the rank among all; or
        group_src: the rank in the group.
        group, async_op: as of `all_reduce`.

    Example:
        >>> x = flambeau.full((2,), flambeau.distributed.get_rank())  # in each of two processes
        >>> flambeau.distributed.broadcast(x, src=1)
        >>> x
        tensor([1, 1])
    """
    mine = checked("broadcast", "tensor", tensor)
    found = joined(group, "broadcast")
    if found is None:
        return None
    root = root_in(found, "broadcast", "src", src, group_src)
    results = Results([mine])
    return found.call(
        f"broadcast(src {root}, {described(mine)})",
        lambda x: patterns.broadcast(x, results.flat[0], root),
        results,
        async_op,
    )


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """`tensor_list[i]` becomes the tensor of rank i.

    Args:
        tensor_list: as many as ranks, of the dtype and the number of elements of `tensor`.
        tensor: of the same shape and dtype on all ranks.
        group, async_op: as of `all_reduce`.

    Example:
        >>> mine = flambeau.full((2,), flambeau.distributed.get_rank())  # in each of two processes
        >>> everyone = [flambeau.zeros_like(mine) for _ in range(2)]
        >>> flambeau.distributed.all_gather(everyone, mine)
        >>> everyone
        [tensor([0, 0]), tensor([1, 1])]
    """
    outputs = checked_list("all_gather", "tensor_list", tensor_list)
    mine = checked("all_gather", "tensor", tensor)
    found = joined(group, "all_gather")
    if found is None:
        return None
    check_count("all_gather", "tensor_list", outputs, found)
    check_same("all_gather", "tensor_list", outputs, mine)
    return _gather_all(found, "all_gather", outputs, mine, async_op)


def _gather_all(
    found: ProcessGroup, name: str, outputs: list[Tensor], mine: Tensor, async_op: bool
) -> Work | None:
    results, sent = Results(outputs), flattened(mine)
    return found.call(
        f"{name}({described(mine)})",
        lambda x: patterns.all_gather(x, results.flat, sent),
        results,
        async_op,
    )


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """The tensors of all ranks one after the other, in one tensor.

    Args:
        output_tensor: of as many elements as all ranks' together: joined along the first
            dimension, or stacked.
        input_tensor: of the same shape and dtype on all ranks.
        group, async_op: as of `all_reduce`.

    Example:
        >>> mine = flambeau.full((2,), flambeau.distributed.get_rank())  # in each of two processes
        >>> rows = flambeau.empty(2, 2, dtype=flambeau.int64)
        >>> flambeau.distributed.all_gather_into_tensor(rows, mine)
        >>> rows
        tensor([[0, 0],
                [1, 1]])
    """
    name = "all_gather_into_tensor"
    output = checked(name, "output_tensor", output_tensor)
    mine = checked(name, "input_tensor", input_tensor)
    found = joined(group, name)
    if found is None:
        return None
    parts = parts_of(name, output, mine, found, "output_tensor", "input_tensor")
    return _gather_all(found, name, parts, mine, async_op)


def parts_of(
    name: str, whole: Tensor, one: Tensor, group: ProcessGroup, of_whole: str, of_one: str
) -> list[Tensor]:
    """Parts of a contiguous tensor, one for each rank."""
    if whole.dtype != one.dtype or whole.numel() != one.numel() * group.size():
        raise ValueError(
            f"{name}: {of_whole} must have {group.size()} times the elements of {of_one}, and its "
            f"dtype: got {described(whole)} and {described(one)}"
        )
    if not whole.is_contiguous():
        raise ValueError(f"{name}: {of_whole} must be contiguous, got strides {whole.stride()}")
    return list(whole.view(-1).split(one.numel())) if one.numel() else [one] * group.size()


all_gather_single = all_gather_into_tensor


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """`output_tensor_lists[i][j]` becomes tensor j of rank i; the call is one `all_gather` each.

    Args:
        output_tensor_lists: a list for each rank.
        input_tensor_list: of the same shapes and dtypes on all ranks.
        group, async_op: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> mine = [flambeau.full((2,), rank), flambeau.tensor([0.5 + rank])]
        >>> everyone = [[flambeau.zeros_like(x) for x in mine] for _ in range(2)]
        >>> flambeau.distributed.all_gather_coalesced(everyone, mine)
        >>> everyone
        [[tensor([0, 0]), tensor([0.5000])], [tensor([1, 1]), tensor([1.5000])]]
    """
    name = "all_gather_coalesced"
    mine = checked_list(name, "input_tensor_list", input_tensor_list)
    rows = [
        checked_list(name, f"output_tensor_lists[{i}]", row)
        for i, row in enumerate(output_tensor_lists)
    ]
    found = joined(group, name)
    if found is None:
        return None
    if len(rows) != found.size() or any(len(row) != len(mine) for row in rows) or not mine:
        raise ValueError(
            f"{name}: output_tensor_lists must have {found.size()} lists of {len(mine)} tensors, "
            f"got {[len(row) for row in rows]}"
        )
    works = []
    for j, tensor in enumerate(mine):
        outputs = [row[j] for row in rows]
        check_same(name, f"output_tensor_lists[.][{j}]", outputs, tensor)
        works.append(_gather_all(found, name, outputs, tensor, async_op))
    return works[-1]  # calls of a group end in their order


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Rank `dst` gets the tensors of all ranks.

    Args:
        tensor: of the same shape and dtype on all ranks.
        gather_list: on rank `dst`, a tensor for each rank; None on others.
        dst: the rank among all, 0 if neither is given; or
        group_dst: the rank in the group.
        group, async_op: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> everyone = [flambeau.zeros(1).long() for _ in range(2)] if rank == 0 else None
        >>> flambeau.distributed.gather(flambeau.tensor([rank + 5]), everyone, dst=0)
        >>> everyone == ([flambeau.tensor([5]), flambeau.tensor([6])] if rank == 0 else None)
        True
    """
    mine = checked("gather", "tensor", tensor)
    found = joined(group, "gather")
    if found is None:
        return None
    root = root_in(found, "gather", "dst", dst, group_dst, default=0)
    outputs = _for_root(found, "gather", "gather_list", gather_list, mine, root)
    results, sent = Results(outputs or []), flattened(mine)
    return found.call(
        f"gather(dst {root}, {described(mine)})",
        lambda x: patterns.gather(x, None if outputs is None else results.flat, sent, root),
        results,
        async_op,
    )


def _for_root(
    group: ProcessGroup, operation: str, name: str, tensors: Any, like: Tensor, root: int
) -> list[Tensor] | None:
    """The list that the root must give, and nobody else."""
    if group.rank() != root:
        if tensors:
            raise ValueError(f"{operation}: {name} is of rank {group.ranks[root]} alone")
        return None
    if tensors is None:
        raise ValueError(f"{operation}: {name} is needed on rank {group.ranks[root]}")
    given = checked_list(operation, name, tensors)
    check_count(operation, name, given, group)
    check_same(operation, name, given, like)
    return given


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Every rank gets its tensor of those of rank `src`.

    Args:
        tensor: becomes that; of the same shape and dtype on all ranks.
        scatter_list: on rank `src`, a tensor for each rank; None on others.
        src: the rank among all, 0 if neither is given; or
        group_src: the rank in the group.
        group, async_op: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> parts = [flambeau.tensor([5]), flambeau.tensor([6])] if rank == 0 else None
        >>> mine = flambeau.tensor([0])
        >>> flambeau.distributed.scatter(mine, parts, src=0)
        >>> mine.item() - rank
        5
    """
    mine = checked("scatter", "tensor", tensor)
    found = joined(group, "scatter")
    if found is None:
        return None
    root = root_in(found, "scatter", "src", src, group_src, default=0)
    given = _for_root(found, "scatter", "scatter_list", scatter_list, mine, root)
    results = Results([mine])
    sent = None if given is None else [flattened(part) for part in given]
    return found.call(
        f"scatter(src {root}, {described(mine)})",
        lambda x: patterns.scatter(x, results.flat[0], sent, root),
        results,
        async_op,
    )


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """`output_tensor_list[i]` becomes what rank i has for this one in its inputs.

    Args:
        output_tensor_list: a tensor for each rank, of as many elements as are sent.
        input_tensor_list: a tensor for each rank, all of one dtype.
        group, async_op: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> sent = [flambeau.tensor([10 * rank + to]) for to in range(2)]
        >>> come = [flambeau.tensor([0]) for _ in range(2)]
        >>> flambeau.distributed.all_to_all(come, sent)
        >>> [x.item() - rank for x in come]
        [0, 10]
    """
    name = "all_to_all"
    outputs = checked_list(name, "output_tensor_list", output_tensor_list)
    inputs = checked_list(name, "input_tensor_list", input_tensor_list)
    found = joined(group, name)
    if found is None:
        return None
    check_count(name, "output_tensor_list", outputs, found)
    check_count(name, "input_tensor_list", inputs, found)
    return _all_to_all(found, name, outputs, inputs, async_op)


def _all_to_all(
    found: ProcessGroup, name: str, outputs: list[Tensor], inputs: list[Tensor], async_op: bool
) -> Work | None:
    dtypes = {tensor.dtype for tensor in (*outputs, *inputs)}
    if len(dtypes) != 1:
        raise ValueError(f"{name}: tensors must be of one dtype, got {sorted(map(str, dtypes))}")
    own = found.rank()
    if outputs[own].numel() != inputs[own].numel():
        raise ValueError(
            f"{name}: rank {own} has {described(inputs[own])} for itself, and expects "
            f"{described(outputs[own])}"
        )
    results, sent = Results(outputs), [flattened(part) for part in inputs]
    return found.call(
        f"{name}({str(outputs[0].dtype).rpartition('.')[2]})",
        lambda x: patterns.all_to_all(x, results.flat, sent),
        results,
        async_op,
    )


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """`all_to_all` of the parts of a tensor along its first dimension.

    Args:
        output, input: contiguous, of the same dtype.
        output_split_sizes: rows that come from each rank; None: equally many.
        input_split_sizes: rows that go to each rank; None: equally many.
        group, async_op: as of `all_reduce`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> come = flambeau.empty(4)
        >>> flambeau.distributed.all_to_all_single(come, flambeau.arange(4.0) + 10 * rank)
        >>> come - 2 * rank  # two rows of each rank
        tensor([ 0.,  1., 10., 11.])
    """
    name = "all_to_all_single"
    mine, sent = checked(name, "output", output), checked(name, "input", input)
    found = joined(group, name)
    if found is None:
        return None
    outputs = rows_of(name, "output", mine, output_split_sizes, found)
    inputs = rows_of(name, "input", sent, input_split_sizes, found)
    return _all_to_all(found, name, outputs, inputs, async_op)


def rows_of(
    operation: str, name: str, tensor: Tensor, sizes: list[int] | None, group: ProcessGroup
) -> list[Tensor]:
    if tensor.dim() == 0 or not tensor.is_contiguous():
        raise ValueError(
            f"{operation}: {name} must be contiguous and have a dimension, got {described(tensor)}"
        )
    rows = tensor.shape[0]
    if not sizes:
        if rows % group.size():
            raise ValueError(
                f"{operation}: the {rows} rows of {name} do not divide among {group.size()} ranks"
            )
        sizes = [rows // group.size()] * group.size()
    if len(sizes) != group.size() or sum(sizes) != rows:
        raise ValueError(
            f"{operation}: {name}_split_sizes must be {group.size()} numbers whose sum is {rows}, "
            f"got {list(sizes)}"
        )
    return list(tensor.split(list(sizes)))
