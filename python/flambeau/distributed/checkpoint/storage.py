"""Where checkpoints lie: what a program defines that keeps them elsewhere than in a folder."""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from flambeau.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from flambeau.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner
from flambeau.futures import Future

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """What became of an item.

    Args:
        index: its name.
        size_in_bytes: what it takes.
        storage_data: where it is, as the reader will want to know.

    Example:
        >>> from flambeau.distributed.checkpoint.metadata import MetadataIndex
        >>> from flambeau.distributed.checkpoint.storage import WriteResult
        >>> WriteResult(MetadataIndex("x"), 4, "here").size_in_bytes
        4
    """

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes checkpoints. `save` calls the methods in the order in which they stand here: in every
    process, those of the global plan and of the end in the first alone.

    Example:
        >>> from flambeau.distributed.checkpoint import FileSystemWriter, StorageWriter
        >>> issubclass(FileSystemWriter, StorageWriter)
        True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins a checkpoint of that name; None: of the same."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Prepares; in the first process with `is_coordinator`."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """May note in the plan of this process what the storage needs."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """May note in all plans what the storage needs."""

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Writes the items, whose data `planner.resolve_data` gives."""

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Writes what the checkpoint holds; with that it is one."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a name can be one of this storage."""

    def storage_meta(self) -> StorageMeta | None:
        """Which checkpoint it is, for planners."""
        return None


class StorageReader(abc.ABC):
    """Reads checkpoints. `load` calls the methods in the order in which they stand here: in every
    process, that of the global plan in the first alone.

    Example:
        >>> from flambeau.distributed.checkpoint import FileSystemReader, StorageReader
        >>> issubclass(FileSystemReader, StorageReader)
        True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins to read a checkpoint of that name; None: of the same."""

    @abc.abstractmethod
    def read_metadata(self) -> Metadata:
        """What the checkpoint holds."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool) -> None:
        """Prepares; in the first process with `is_coordinator`."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """May note in the plan of this process what the storage needs."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """May note in all plans what the storage needs."""

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Reads the items: bytes for `planner.load_bytes`, tensors into `planner.resolve_tensor`,
        each then told to `planner.commit_tensor`.
        """

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a name can be one of this storage."""
