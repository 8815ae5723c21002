"""Objects that cross processes, as pickles: a process runs what the others send it."""

from __future__ import annotations

import io
import pickle
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.distributed import collectives, letters
from flambeau.distributed.world import Group, get_rank, joined


def _packed(obj: Any) -> tuple[Tensor, Tensor]:
    """A pickle's bytes, and how many they are."""
    file = io.BytesIO()
    pickle.Pickler(file, pickle.HIGHEST_PROTOCOL).dump(obj)
    data = flambeau.frombuffer(bytearray(file.getvalue()), dtype=flambeau.uint8)
    return data, flambeau.tensor([data.numel()])


def _unpacked(data: Tensor) -> Any:
    return pickle.loads(data.numpy().tobytes())


def _bytes(count: int) -> Tensor:
    return flambeau.empty(count, dtype=flambeau.uint8)


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """`object_list[i]` becomes the object of rank i. Pickles: of trusted processes only.

    Args:
        object_list: as long as the group.
        obj: that can be pickled.
        group: of processes; None: all.

    Example:
        >>> everyone = [None, None]
        >>> mine = {"rank": flambeau.distributed.get_rank()}  # in each of two processes
        >>> flambeau.distributed.all_gather_object(everyone, mine)
        >>> everyone
        [{'rank': 0}, {'rank': 1}]
    """
    found = joined(group, "all_gather_object")
    if found is None:
        return
    if len(object_list) != found.size():
        raise ValueError(
            f"all_gather_object: object_list must have {found.size()} items, got {len(object_list)}"
        )
    data, count = _packed(obj)
    counts = [flambeau.zeros_like(count) for _ in object_list]
    collectives.all_gather(counts, count, found)
    parts = [_bytes(int(one.item())) for one in counts]
    # Everybody sends all it has to everybody; sizes differ.
    collectives.all_to_all(parts, [data] * found.size(), found)
    object_list[:] = [_unpacked(part) for part in parts]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Rank `dst` gets the objects of all; arguments as of `gather`. Pickles: see above.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> everyone = [None, None] if rank == 0 else None
        >>> flambeau.distributed.gather_object(f"I am {rank}", everyone, dst=0)
        >>> everyone == (["I am 0", "I am 1"] if rank == 0 else None)
        True
    """
    found = joined(group, "gather_object")
    if found is None:
        return
    root = collectives.root_in(found, "gather_object", "dst", dst, group_dst, default=0)
    here = found.rank() == root
    if here and (object_gather_list is None or len(object_gather_list) != found.size()):
        raise ValueError(
            f"gather_object: object_gather_list must have {found.size()} items on rank "
            f"{found.ranks[root]}, got {brief(object_gather_list)}"
        )
    everything: list[Any] = [None] * found.size()
    data, count = _packed(obj)
    counts = [flambeau.zeros_like(count) for _ in everything]
    collectives.all_gather(counts, count, found)
    sizes = [int(one.item()) if here else 0 for one in counts]
    sizes[found.rank()] = data.numel() if here else 0
    sent = [data if rank == root else _bytes(0) for rank in range(found.size())]
    parts = [_bytes(size) for size in sizes]
    collectives.all_to_all(parts, sent, found)
    if here:
        assert object_gather_list is not None
        object_gather_list[:] = [_unpacked(part) for part in parts]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Everybody gets the objects of rank `src`, in place of its own. Pickles: see above.

    Args:
        object_list: equally long on all ranks.
        src: the rank among all, 0 if neither is given; or
        group_src: the rank in the group.
        group: of processes; None: all.
        device: of no meaning.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> objects = [{"rate": 0.1}, "train"] if rank == 0 else [None, None]
        >>> flambeau.distributed.broadcast_object_list(objects, src=0)
        >>> objects
        [{'rate': 0.1}, 'train']
    """
    found = joined(group, "broadcast_object_list")
    if found is None:
        return
    root = collectives.root_in(found, "broadcast_object_list", "src", src, group_src, default=0)
    data, count = _packed(list(object_list) if found.rank() == root else None)
    collectives.broadcast(count, group=found, group_src=root)
    if found.rank() != root:
        data = _bytes(int(count.item()))
    collectives.broadcast(data, group=found, group_src=root)
    if found.rank() != root:
        objects = _unpacked(data)
        if len(objects) != len(object_list):
            raise ValueError(
                f"broadcast_object_list: object_list has {len(object_list)} items on rank "
                f"{get_rank()}, {len(objects)} on rank {found.ranks[root]}"
            )
        object_list[:] = objects


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """The first item of every rank's output list becomes its object of rank `src`'s. Pickles.

    Args:
        scatter_object_output_list: not empty.
        scatter_object_input_list: on rank `src`, an object for each rank.
        src, group, group_src: as of `broadcast_object_list`.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> mine = [None]
        >>> files = ["a.csv", "b.csv"] if rank == 0 else None
        >>> flambeau.distributed.scatter_object_list(mine, files, src=0)
        >>> mine == [["a.csv", "b.csv"][rank]]
        True
    """
    found = joined(group, "scatter_object_list")
    if found is None:
        return
    if not scatter_object_output_list:
        raise ValueError("scatter_object_list: scatter_object_output_list must not be empty")
    root = collectives.root_in(found, "scatter_object_list", "src", src, group_src, default=0)
    packed: list[Tensor] = []
    if found.rank() == root:
        given = scatter_object_input_list or []
        if len(given) != found.size():
            raise ValueError(
                f"scatter_object_list: scatter_object_input_list must have {found.size()} items "
                f"on rank {found.ranks[root]}, got {len(given)}"
            )
        packed = [_packed(obj)[0] for obj in given]
    count = flambeau.zeros(1, dtype=flambeau.int64)
    counts = [flambeau.tensor([part.numel()]) for part in packed] or None
    collectives.scatter(count, counts, group=found, group_src=root)
    mine = [_bytes(0) for _ in found.ranks]
    mine[root] = _bytes(int(count.item()))
    collectives.all_to_all(mine, packed or [_bytes(0) for _ in found.ranks], found)
    scatter_object_output_list[0] = _unpacked(mine[root])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends objects to a process, which calls `recv_object_list`. Pickles: see above.

    Args:
        object_list: objects that can be pickled.
        dst: the receiver's rank among all.
        group: None: all processes.
        device: accepted.
        group_dst: the receiver's rank in the group, instead.
        use_batch: accepted.

    Example:
        >>> objects = ["epoch", 3]
        >>> if flambeau.distributed.get_rank() == 0:  # in each of two processes
        ...     flambeau.distributed.send_object_list(objects, dst=1)
        ... else:
        ...     objects = [None, None]
        ...     _ = flambeau.distributed.recv_object_list(objects, src=0)
        >>> objects
        ['epoch', 3]
    """
    data, count = _packed(list(object_list))
    letters.send(count, dst, group, group_dst=group_dst)
    letters.send(data, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receives objects of `send_object_list`, in place of those in the list. Pickles: see above.

    Args:
        object_list: as many objects as are sent, to be replaced.
        src: the sender's rank among all; None: any.
        group: None: all processes.
        device: accepted.
        group_src: the sender's rank in the group, instead.
        use_batch: accepted.

    Returns:
        The rank of the sender; -1 outside of the group.

    Example:
        >>> objects = [{"best": 0.9}]
        >>> if flambeau.distributed.get_rank() == 0:  # in each of two processes
        ...     flambeau.distributed.send_object_list(objects, dst=1)
        ... else:
        ...     objects = [None]
        ...     assert flambeau.distributed.recv_object_list(objects) == 0  # the sender
        >>> objects
        [{'best': 0.9}]
    """
    count = flambeau.zeros(1, dtype=flambeau.int64)
    sender = letters.recv(count, src, group, group_src=group_src)
    if sender < 0:
        return sender
    data = _bytes(int(count.item()))
    letters.recv(data, sender, group)
    objects = _unpacked(data)
    if len(objects) != len(object_list):
        raise ValueError(
            f"recv_object_list: object_list has {len(object_list)} items, rank {sender} has sent "
            f"{len(objects)}"
        )
    object_list[:] = objects
    return sender
