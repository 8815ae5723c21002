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
from flambeau.distributed.checkpoint.filesystem import FileSystemWriter
from flambeau.distributed.checkpoint.flat import flattened
from flambeau.distributed.checkpoint.metadata import Metadata
from flambeau.distributed.checkpoint.planner import SavePlan, SavePlanner
from flambeau.distributed.checkpoint.stateful import Stateful
from flambeau.distributed.checkpoint.storage import StorageWriter, WriteResult
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
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
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
        storage_writer: what writes; None: a `FileSystemWriter` of the folder.
        planner: what decides what is written; None: a `DefaultSavePlanner`.
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
    saving = _saving("save", state_dict, checkpoint_id, storage_writer, planner)
    return saving.written(Team(process_group, no_dist))


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
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
    saving = _saving("async_save", state_dict, checkpoint_id, storage_writer, planner)
    saving.state = _copy(saving.state)
    team = Team(None if no_dist else _own_group(process_group), no_dist)
    future = _thread().submit(saving.written, team)
    future.add_done_callback(lambda done: _warn(done, saving.writer))
    return future


def save_state_dict(
    state_dict: Mapping[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
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
        state_dict,
        storage_writer=storage_writer,
        planner=planner,
        process_group=process_group,
        no_dist=no_dist,
    )


@dataclass
class _Saving:
    """A state on its way."""

    state: dict[str, Any]
    writer: StorageWriter
    planner: SavePlanner

    def written(self, team: Team) -> Metadata:
        """What `save` gives; all processes hear of what goes wrong in one."""
        plans = team.each("save", lambda: self._local(team.rank == 0))
        plans, metadata = team.first("save", lambda: self._global(plans))
        results = team.each("save", lambda: self._write(plans[team.rank]))
        found: Metadata = team.first("save", lambda: self._finished(metadata, results))
        return found

    def _local(self, is_first: bool) -> SavePlan:
        self.planner.set_up_planner(self.state, self.writer.storage_meta(), is_first)
        self.writer.set_up_storage_writer(is_first)
        return self.writer.prepare_local_plan(self.planner.create_local_plan())

    def _global(self, plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans, metadata = self.planner.create_global_plan(plans)
        return self.writer.prepare_global_plan(plans), metadata

    def _write(self, plan: SavePlan) -> list[WriteResult]:
        return self.writer.write_data(self.planner.finish_plan(plan), self.planner).wait()

    def _finished(self, metadata: Metadata, results: list[list[WriteResult]]) -> Metadata:
        self.writer.finish(metadata, results)
        return metadata


def _saving(
    function: str,
    state: Mapping[str, Any],
    folder: str | os.PathLike[str] | None,
    writer: StorageWriter | None,
    planner: SavePlanner | None,
) -> _Saving:
    if writer is None and not folder:
        raise ValueError(f"{function}(): give a folder, checkpoint_id, or a storage_writer")
    writer = writer or FileSystemWriter(folder)  # type: ignore[arg-type]
    writer.reset(folder)
    plain = {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state.items()}
    flattened(plain)  # what cannot be told apart is an error before anything is written
    return _Saving(plain, writer, planner or DefaultSavePlanner())


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_copy(item) for item in value)
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


def _warn(done: Future[Metadata], writer: StorageWriter) -> None:
    if (problem := done.exception()) is not None:
        what = getattr(writer, "path", "what was written")
        warnings.warn(f"async_save(): {what} is no checkpoint: {problem}", stacklevel=2)
