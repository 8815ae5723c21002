"""The groups that this process belongs to."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import flambeau
from flambeau.distributed.backend import Backend, BackendConfig
from flambeau.distributed.meeting import meet
from flambeau.distributed.mesh import Mesh
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.rendezvous import rendezvous
from flambeau.distributed.store import PrefixStore, Store
from flambeau.distributed.wire import seconds

default_pg_timeout = timedelta(minutes=30)
Group = ProcessGroup | int | None


class _WorldType(type):
    """Of `group` and `GroupMember`, whose WORLD is the group of all processes."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return _state.world


class group(metaclass=_WorldType):
    """Holds `group.WORLD`, the group of all processes.

    Example:
        >>> flambeau.distributed.group.WORLD
        <ProcessGroup 0: ranks [0] over gloo>
    """


class GroupMember(metaclass=_WorldType):
    """Holds WORLD, and what `new_group` gives to processes that are no members.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> first = flambeau.distributed.new_group([0])
        >>> (first == flambeau.distributed.GroupMember.NON_GROUP_MEMBER) == (rank == 1)
        True
    """

    NON_GROUP_MEMBER = -100


class _State:
    def __init__(self) -> None:
        self.world: ProcessGroup | None = None
        self.mesh: Mesh | None = None
        self.store: Store | None = None
        self.config: BackendConfig | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.made = 0
        self.of_members: Counter[tuple[int, ...]] = Counter()
        self.worlds = 0


_state = _State()


def is_initialized() -> bool:
    """Whether this process belongs to a group of all processes.

    Example:
        >>> flambeau.distributed.is_initialized()
        True
        >>> flambeau.distributed.destroy_process_group()
        >>> flambeau.distributed.is_initialized()
        False
    """
    return _state.world is not None


def member(group: Group = None) -> ProcessGroup | None:
    """A group; None: this process is no member of it.

    Raises:
        ValueError: there is no group yet, or it was destroyed.
    """
    if _state.world is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    if group is None:
        return _state.world
    if isinstance(group, ProcessGroup):
        if group.group_name not in _state.groups:
            raise ValueError(f"Invalid process group specified: {group} was destroyed")
        return group
    if group == GroupMember.NON_GROUP_MEMBER:
        return None
    raise TypeError(f"group must be a ProcessGroup or None, got {type(group).__name__}")


def joined(group: Group, operation: str) -> ProcessGroup | None:
    """A group for a call; a warning and None where this process is no member."""
    found = member(group)
    if found is None:
        warnings.warn(
            f"{operation}: process {get_rank()} is no member of the group; nothing is done",
            stacklevel=3,
        )
    return found


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Joins the group of all processes; every process calls it.

    Args:
        backend: "gloo", or None.
        init_method: where processes meet: "env://" (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT),
            which None stands for, "tcp://HOST:PORT" of rank 0, "file:///PATH" of a new file.
        timeout: how long joining and later each call may take; None: 30 minutes.
        world_size: the number of processes; -1: as init_method says.
        rank: of this process, from 0; -1: as init_method says.
        store: where processes meet, in place of init_method; rank and world_size are needed.
        group_name: of no meaning.
        pg_options: must be None.
        device_id: of no meaning: tensors are the CPU's.

    Raises:
        ValueError: joined already, or something is not said.
        RuntimeError: the backend is not available.
        DistBackendError, DistNetworkError, DistStoreError: others did not come in time.

    Example:
        >>> store = flambeau.distributed.HashStore()
        >>> flambeau.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        >>> flambeau.distributed.get_rank(), flambeau.distributed.get_world_size()
        (0, 1)
        >>> flambeau.distributed.destroy_process_group()
    """
    if _state.world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise ValueError("init_process_group: give init_method or store, not both")
    if pg_options is not None:
        raise ValueError("init_process_group: pg_options must be None: 'gloo' has no options")
    config = BackendConfig(backend or Backend.UNDEFINED)
    limit = default_pg_timeout if timeout is None else timeout
    seconds(limit)
    if store is None:
        meeting = rendezvous(init_method or "env://", rank, world_size, timeout=limit)
        store, rank, world_size = next(meeting)
        store.set_timeout(limit)
    elif rank < 0 or world_size < 1:
        raise ValueError(
            f"init_process_group: a store needs rank and world_size, got rank {rank} and "
            f"world_size {world_size}"
        )
    if not 0 <= rank < world_size:
        raise ValueError(
            f"init_process_group: rank must be within [0, {world_size - 1}], got {rank}"
        )
    own = PrefixStore(f"world_{_state.worlds}", store)
    previous = own.timeout
    own.set_timeout(limit)
    try:
        mesh = meet(own, rank, world_size, seconds(limit))
    finally:
        own.set_timeout(previous)
    _state.worlds += 1
    _state.mesh, _state.store, _state.config, _state.made = mesh, own, config, 0
    name = config.device_backend_map["cpu"]
    world = ProcessGroup(
        mesh, "0", list(range(world_size)), limit, name, PrefixStore("0", own), "default_pg"
    )
    _state.groups = {world.group_name: world}
    _state.of_members.clear()
    _state.world = world


def destroy_process_group(group: Group = None) -> None:
    """Leaves a group, None: all of them; waits for what is under way.

    Raises:
        ValueError: there is no such group.

    Example:
        >>> group = flambeau.distributed.new_group()
        >>> flambeau.distributed.destroy_process_group(group)
        >>> flambeau.distributed.is_initialized()
        True
        >>> flambeau.distributed.destroy_process_group()
        >>> flambeau.distributed.is_initialized()
        False
    """
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    found = member(group)
    assert found is not None
    if found is not _state.world:
        found.close()
        del _state.groups[found.group_name]
        return
    for one in _state.groups.values():
        one.close()
    assert _state.mesh is not None
    _state.mesh.leave()
    _state.groups.clear()
    _state.world = _state.mesh = _state.store = _state.config = None


def get_rank(group: Group = None) -> int:
    """The rank of this process in a group; -1: it is no member.

    Example:
        >>> flambeau.distributed.get_rank()
        0
    """
    found = member(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Group = None) -> int:
    """The number of processes of a group; -1: this one is no member.

    Example:
        >>> flambeau.distributed.get_world_size()  # in each of two processes
        2
    """
    found = member(group)
    return -1 if found is None else found.size()


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank of this process on its machine: LOCAL_RANK of the environment.

    Args:
        fallback_rank: where the environment does not say it.

    Raises:
        RuntimeError: nothing says it.

    Example:
        >>> import os
        >>> from unittest import mock
        >>> with mock.patch.dict(os.environ, LOCAL_RANK="3"):
        ...     flambeau.distributed.get_node_local_rank()
        3
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "get_node_local_rank: LOCAL_RANK is not in the environment, and there is no "
            "fallback_rank; python -m flambeau.distributed.run sets it"
        )
    return int(fallback_rank)


def get_backend(group: Group = None) -> Backend:
    """The name of what carries a group's messages.

    Raises:
        ValueError: this process is no member.

    Example:
        >>> flambeau.distributed.get_backend()
        'gloo'
    """
    found = member(group)
    if found is None:
        raise ValueError("get_backend: this process is no member of the group")
    return Backend(found.backend)


def get_backend_config(group: Group = None) -> str:
    """Backends by devices, as "cpu:gloo".

    Args:
        group: None: all processes.

    Example:
        >>> flambeau.distributed.get_backend_config()
        'cpu:gloo'
    """
    get_backend(group)
    return repr(_state.config)


def get_process_group_ranks(group: Group) -> list[int]:
    """The ranks of a group's processes among all, in order.

    Example:
        >>> ranks = [1, 0]  # in each of two processes
        >>> group = flambeau.distributed.new_group(ranks, sort_ranks=False)
        >>> flambeau.distributed.get_process_group_ranks(group)
        [1, 0]
    """
    found = member(group)
    if found is None:
        raise ValueError("get_process_group_ranks: this process is no member of the group")
    return list(found.ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a process with a rank among all; ValueError for no member.

    Args:
        group: of processes.
        global_rank: a rank among all.

    Example:
        >>> ranks = [1, 0]  # in each of two processes
        >>> group = flambeau.distributed.new_group(ranks, sort_ranks=False)
        >>> flambeau.distributed.get_group_rank(group, 1)
        0
    """
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank among all of a process with a rank in a group; ValueError for none.

    Args:
        group: of processes.
        group_rank: a rank in it.

    Example:
        >>> ranks = [1, 0]  # in each of two processes
        >>> group = flambeau.distributed.new_group(ranks, sort_ranks=False)
        >>> flambeau.distributed.get_global_rank(group, 0)
        1
    """
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_pg_count() -> int:
    """The number of groups that this process belongs to.

    Example:
        >>> flambeau.distributed.get_pg_count()
        1
        >>> group = flambeau.distributed.new_group()
        >>> flambeau.distributed.get_pg_count()
        2
    """
    return len(_state.groups)


def supports_complex(reduceOp: Any) -> bool:
    """Whether complex tensors can be reduced so.

    Args:
        reduceOp: a `ReduceOp`.

    Example:
        >>> op = flambeau.distributed.ReduceOp
        >>> [flambeau.distributed.supports_complex(kind) for kind in (op.SUM, op.MAX)]
        [True, False]
    """
    from flambeau.distributed.combining import Reduction

    try:
        Reduction("supports_complex", reduceOp, flambeau.complex64, 1)
    except (ValueError, RuntimeError):
        return False
    return True


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> ProcessGroup | int:
    """A group of some of the processes. All processes call it, in the same order.

    Args:
        ranks: of its members; None: of all.
        timeout: of its calls; None: that of all processes' group.
        backend: "gloo" or None.
        pg_options: must be None.
        use_local_synchronization: only the members call it.
        group_desc: words for the reader.
        device_id: of no meaning.
        sort_ranks: ranks in the group follow those among all; else the order given.

    Returns:
        The group; to a process that is no member GroupMember.NON_GROUP_MEMBER.

    Raises:
        ValueError: ranks that there are not, or twice.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> first = flambeau.distributed.new_group([0])
        >>> flambeau.distributed.get_world_size(first) == (1 if rank == 0 else -1)
        True
    """
    world = member()
    assert world is not None and _state.store is not None
    members = list(range(world.size())) if ranks is None else [int(rank) for rank in ranks]
    if sort_ranks:
        members.sort()
    if len(set(members)) != len(members) or any(not 0 <= r < world.size() for r in members):
        raise ValueError(
            f"new_group: ranks must be different and within [0, {world.size() - 1}], got {members}"
        )
    if pg_options is not None:
        raise ValueError("new_group: pg_options must be None: 'gloo' has no options")
    name = BackendConfig(backend or world.backend).device_backend_map["cpu"]
    if use_local_synchronization:
        number = _state.of_members[tuple(members)] = _state.of_members[tuple(members)] + 1
        name_of_group = f"of {' '.join(map(str, members))}, {number}"
    else:
        _state.made += 1
        name_of_group = str(_state.made)
    if world.mesh.rank not in members:
        return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(
        world.mesh,
        name_of_group,
        members,
        world.timeout if timeout is None else timeout,
        name,
        PrefixStore(name_of_group, _state.store),
        group_desc or "undefined",
    )
    _state.groups[made.group_name] = made
    return made


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Divides a group: all of its processes call it, and each gets the part that it is in.

    Args:
        parent_pg: the group; None: of all processes.
        split_ranks: the parts, each of different ranks in the group.
        timeout, pg_options, group_desc, backend: as of `new_group`.

    Returns:
        The part; None for a process that is in none.

    Raises:
        ValueError: there are no parts, or they share ranks.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> part = flambeau.distributed.split_group(None, [[0], [1]])
        >>> part.ranks == [rank]
        True
    """
    parent = member(parent_pg)
    if parent is None:
        raise ValueError("split_group: this process is no member of parent_pg")
    if not split_ranks:
        raise ValueError("split_group: split_ranks cannot be None or empty")
    places = [int(rank) for part in split_ranks for rank in part]
    if len(set(places)) != len(places) or any(not 0 <= r < parent.size() for r in places):
        raise ValueError(
            "split_group: split_ranks must be different and within "
            f"[0, {parent.size() - 1}], got {[list(part) for part in split_ranks]}"
        )
    mine = [part for part in split_ranks if parent.rank() in part]
    if not mine:
        return None
    made = new_group(
        [parent.ranks[rank] for rank in mine[0]],
        parent.timeout if timeout is None else timeout,
        backend,
        pg_options,
        use_local_synchronization=True,
        group_desc=group_desc,
    )
    assert isinstance(made, ProcessGroup)
    return made


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | int, list[ProcessGroup | int]]:
    """Groups that share no process, and the one of this process among them.

    Args:
        ranks_per_subgroup_list: the members of each.
        timeout, backend, pg_options, group_desc: as of `new_group`.

    Returns:
        The group of this process (NON_GROUP_MEMBER: it is in none), and all of them.

    Raises:
        ValueError: a rank comes twice.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> mine, groups = flambeau.distributed.new_subgroups_by_enumeration([[1], [0]])
        >>> mine.ranks == [rank], groups.index(mine) == 1 - rank
        (True, True)
    """
    everyone = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if not everyone or len(set(everyone)) != len(everyone):
        raise ValueError(
            "new_subgroups_by_enumeration: expected groups of different ranks, got "
            f"{[list(ranks) for ranks in ranks_per_subgroup_list]}"
        )
    mine: ProcessGroup | int = GroupMember.NON_GROUP_MEMBER
    made = []
    for ranks in ranks_per_subgroup_list:
        made.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        if get_rank() in ranks:
            mine = made[-1]
    return mine, made


def new_subgroups(
    group_size: int | None = None,
    group: Group = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | int, list[ProcessGroup | int]]:
    """Groups of neighbours, all of one size.

    Args:
        group_size: of each; None: LOCAL_WORLD_SIZE of the environment, the processes of a machine.
        group: whose processes are divided; None: all.
        timeout, backend, pg_options, group_desc: as of `new_group`.

    Raises:
        ValueError: the number of processes is no multiple of the size.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> mine, groups = flambeau.distributed.new_subgroups(group_size=1)
        >>> mine.ranks == [rank], len(groups)
        (True, 2)
    """
    ranks = get_process_group_ranks(group)
    size = int(os.environ.get("LOCAL_WORLD_SIZE", "0")) if group_size is None else group_size
    if size < 1 or len(ranks) % size:
        raise ValueError(
            f"new_subgroups: the {len(ranks)} processes must be a multiple of group_size, got "
            f"{size}"
        )
    parts = [ranks[i : i + size] for i in range(0, len(ranks), size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)
