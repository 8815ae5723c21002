"""Writing the states of several processes into one folder: `save`, and `async_save` beside the
training."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from flambeau import Tensor, distributed
from flambeau.distributed.checkpoint.default_planner import DefaultSavePlanner
from flambeau.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter, entry_of
from flambeau.distributed.checkpoint.flat import flattened
from flambeau.distributed.checkpoint.metadata import Metadata
from flambeau.distributed.checkpoint.stateful import Stateful
from flambeau.distributed.checkpoint.together import Team

__all__ = ["AsyncCheckpointerType", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """What writes for `async_save`; either way it is a thread of the process.

    Example:
        >>> from flambeau.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
        >>> AsyncCheckpointerType("thread").name
        'THREAD'
    """

    THREAD = "thread"
    PROCESS = "process"


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Writes a state into a folder, each process a part of it.

    What several processes have under one name is written once: a tensor by the process that has
    least to write, anything else by the first. All processes of the group must call it.

    Args:
        state_dict: nested dicts and lists of tensors and plain values; of a `Stateful` its state.
        checkpoint_id: the folder.
        storage_writer: in its place.
        planner: accepted, a `DefaultSavePlanner`.
        process_group: None: all processes.
        no_dist: whether this process writes alone.
        use_collectives: accepted.

    Returns:
        What is in the folder.

    Raises:
        CheckpointException: in all processes, if one of them fails.
        ValueError: there is no folder.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> model = flambeau.nn.Linear(1, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = checkpoint.save({"model": model, "epoch": 3}, checkpoint_id=folder)
        >>> sorted(found.state_dict_metadata)
        ['epoch', 'model.bias', 'model.weight']
    """
    team = Team(process_group, no_dist)
    return _planned(state_dict, _writer("save", checkpoint_id, storage_writer), team).written(team)


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Metadata]:
    """Writes a state into a folder beside what the process does next: the state is copied, and
    may change as soon as this returns.

    All processes of the group must call it; their threads agree in a group of their own. States
    are written one after the other, and all are before Python ends. A state that could not be
    written is a warning, too, as nobody may ask for the result.

    Args:
        async_checkpointer_type: accepted; a thread writes.
        async_stager: None: the copy is made here.
        others: as of `save`.

    Returns:
        What is in the folder, when it is; `result()` raises what `save` does.

    Raises:
        ValueError: there is no folder, or an async_stager.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> model = flambeau.nn.Linear(1, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     future = checkpoint.async_save({"model": model}, checkpoint_id=folder)
        ...     _ = model.weight.data.zero_()  # changes nothing of what is written
        ...     sorted(future.result().state_dict_metadata)
        ['model.bias', 'model.weight']
    """
    if async_stager is not None:
        raise ValueError("async_save(): the state is copied here; async_stager must be None")
    writer = _writer("async_save", checkpoint_id, storage_writer)
    plan = _planned(state_dict, writer, Team(process_group, no_dist))
    plan.own = {name: _copy(value) for name, value in plan.own.items()}
    team = Team(None if no_dist else _own_group(process_group), no_dist)
    future = _thread().submit(plan.written, team)
    future.add_done_callback(lambda done: _warn(done, writer))
    return future


def save_state_dict(
    state_dict: Mapping[str, Any],
    storage_writer: FileSystemWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: DefaultSavePlanner | None = None,
) -> Metadata:
    """The former name of `save`.

    Args:
        coordinator_rank: accepted.
        others: as of `save`.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = checkpoint.FileSystemWriter(folder)
        ...     found = checkpoint.save_state_dict({"epoch": 3}, writer)
        >>> [*found.state_dict_metadata]
        ['epoch']
    """
    return save(
        state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist
    )


@dataclass
class _Plan:
    """What this process writes, and what the folder will hold."""

    writer: FileSystemWriter
    own: dict[str, Any]
    index: dict[str, dict[str, Any]]

    def written(self, team: Team) -> Metadata:
        team.each("save", self.writer.begin)
        team.each("save", lambda: self._write(_file(team.rank)))
        team.each("save", lambda: self.writer.finish(self.index) if team.rank == 0 else None)
        return FileSystemReader(self.writer.path).read_metadata()

    def _write(self, file: str) -> None:
        if self.own:
            self.writer.write(file, self.own)


def _writer(
    function: str, folder: str | os.PathLike[str] | None, given: FileSystemWriter | None
) -> FileSystemWriter:
    if given is None and not folder:
        raise ValueError(f"{function}(): give a folder, checkpoint_id, or a storage_writer")
    return given or FileSystemWriter(folder)  # type: ignore[arg-type]


def _planned(state: Mapping[str, Any], writer: FileSystemWriter, team: Team) -> _Plan:
    """Agrees with the other processes on who writes what."""
    entries = flattened(
        {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state.items()}
    )
    mine = {n: (_bytes_of(value), entry_of(path, value)) for n, (path, value) in entries.items()}
    offered = team.each("save", lambda: mine)
    owners = _owners([{name: size for name, (size, _) in each.items()} for each in offered])
    index = {n: {"file": _file(owner), **offered[owner][n][1]} for n, owner in owners.items()}
    own = {n: value for n, (_, value) in entries.items() if owners[n] == team.rank}
    return _Plan(writer, own, index)


def _file(rank: int) -> str:
    return f"__{rank}_0.distcp"


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else copy.deepcopy(value)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "async_save")


os.register_at_fork(after_in_child=_thread.cache_clear)  # a thread stays where it was

_groups: dict[Any, Any] = {}


def _own_group(group: Any) -> Any:
    """One of the same processes, in which nobody else exchanges anything meanwhile."""
    if not distributed.is_initialized():
        return None
    known = group or distributed.group.WORLD
    if known not in _groups:
        ranks = distributed.get_process_group_ranks(known)
        _groups[known] = distributed.new_group(ranks, use_local_synchronization=True)
    return _groups[known]


def _warn(done: Future[Metadata], writer: FileSystemWriter) -> None:
    if (problem := done.exception()) is not None:
        warnings.warn(f"async_save(): {writer.path} is no checkpoint: {problem}", stacklevel=2)


def _bytes_of(value: Any) -> int | None:
    return value.numel() * value.element_size() if isinstance(value, Tensor) else None


def _owners(sizes: list[dict[str, int | None]]) -> dict[str, int]:
    """Which process writes what; all of them find the same."""
    loads = [0] * len(sizes)
    found: dict[str, int] = {}
    for name in dict.fromkeys(name for mine in sizes for name in mine):
        having = [rank for rank, mine in enumerate(sizes) if name in mine]
        size = sizes[having[0]][name]
        found[name] = having[0] if size is None else min(having, key=lambda r: (loads[r], r))
        loads[found[name]] += size or 0
    return found
