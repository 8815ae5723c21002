"""Reading a state from a folder that several processes have written: `load`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from flambeau.distributed.checkpoint.default_planner import DefaultLoadPlanner
from flambeau.distributed.checkpoint.filesystem import FileSystemReader
from flambeau.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from flambeau.distributed.checkpoint.stateful import Stateful
from flambeau.distributed.checkpoint.storage import StorageReader
from flambeau.distributed.checkpoint.together import Team

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fills a state from a folder that `save` has written, of as many processes or of others.

    Tensors are written into, other values are replaced; of a `Stateful` the state is taken over. A
    process reads only what its state names.

    Args:
        state_dict: what is filled.
        checkpoint_id: the folder.
        storage_reader: what reads; None: a `FileSystemReader` of the folder.
        planner: what decides what is read; None: a `DefaultLoadPlanner`. With
            `allow_partial_load=True` that leaves what the folder lacks.
        process_group: None: all processes.
        no_dist: whether this process reads alone.

    Raises:
        CheckpointException: in all processes, if one of them fails: the folder lacks a name, or a
            tensor has another shape.
        ValueError: there is no folder.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = checkpoint.save({"x": flambeau.ones(2), "epoch": 3}, checkpoint_id=folder)
        ...     state = {"x": flambeau.zeros(2), "epoch": 0}
        ...     checkpoint.load(state, checkpoint_id=folder)
        >>> state
        {'x': tensor([1., 1.]), 'epoch': 3}
    """
    if storage_reader is None and not checkpoint_id:
        raise ValueError("load(): give a folder, checkpoint_id, or a storage_reader")
    reader = storage_reader or FileSystemReader(checkpoint_id)  # type: ignore[arg-type]
    reader.reset(checkpoint_id)
    owners = {key: value for key, value in state_dict.items() if isinstance(value, Stateful)}
    state = {k: v.state_dict() if k in owners else v for k, v in state_dict.items()}
    _load_state_dict(state, reader, process_group, 0, no_dist, planner)
    for key, value in state.items():
        if key in owners:
            owners[key].load_state_dict(value)
        else:
            state_dict[key] = value


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """The former name of `load`.

    Args:
        coordinator_rank: accepted.
        others: as of `load`.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> state = {"epoch": 0}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = checkpoint.save({"epoch": 3}, checkpoint_id=folder)
        ...     checkpoint.load_state_dict(state, checkpoint.FileSystemReader(folder))
        >>> state
        {'epoch': 3}
    """
    load(
        state_dict,
        storage_reader=storage_reader,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
    )


@dataclass
class _Loading:
    """A state that is being filled."""

    state: dict[str, Any]
    reader: StorageReader
    planner: LoadPlanner

    def run(self, team: Team) -> None:
        """What `load` does; all processes hear of what goes wrong in one."""
        plans = team.each("load", lambda: self._local(team.rank == 0))
        plans = team.first("load", lambda: self._global(plans))
        team.each("load", lambda: self._read(plans[team.rank]))

    def _local(self, is_first: bool) -> LoadPlan:
        metadata = self.reader.read_metadata()
        self.planner.set_up_planner(self.state, metadata, is_first)
        self.reader.set_up_storage_reader(metadata, is_first)
        return self.reader.prepare_local_plan(self.planner.create_local_plan())

    def _global(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return self.reader.prepare_global_plan(self.planner.create_global_plan(plans))

    def _read(self, plan: LoadPlan) -> None:
        self.reader.read_data(self.planner.finish_plan(plan), self.planner).wait()


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """Fills a state without asking what is in it has one of its own."""
    loading = _Loading(state_dict, storage_reader, planner or DefaultLoadPlanner())
    loading.run(Team(process_group, no_dist))
