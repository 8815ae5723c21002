"""What is written and read, decided in three steps that a program can change: each process plans
its part, the first sees all plans, each finishes its own.
"""

from __future__ import annotations

import abc
import io
import operator
from dataclasses import dataclass
from enum import Enum, auto
from functools import reduce
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(Enum):
    """What is written: a tensor, a part of one, or bytes.

    Example:
        >>> from flambeau.distributed.checkpoint.planner import WriteItemType
        >>> [kind.name for kind in WriteItemType]
        ['TENSOR', 'SHARD', 'BYTE_IO']
    """

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read: a tensor or bytes.

    Example:
        >>> from flambeau.distributed.checkpoint.planner import LoadItemType
        >>> [kind.name for kind in LoadItemType]
        ['TENSOR', 'BYTE_IO']
    """

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """What is known of bytes before they are written.

    Args:
        nbytes: how many.

    Example:
        >>> from flambeau.distributed.checkpoint.planner import BytesIOWriteData
        >>> BytesIOWriteData(4).nbytes
        4
    """

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """What is known of a tensor before it is written.

    Args:
        chunk: which part is written.
        properties: what is the same in all of it.
        size: the shape of the whole.

    Example:
        >>> from flambeau.distributed.checkpoint.metadata import *
        >>> from flambeau.distributed.checkpoint.planner import TensorWriteData
        >>> size = flambeau.Size([2])
        >>> chunk = ChunkStorageMetadata(flambeau.Size([0]), size)
        >>> TensorWriteData(chunk, TensorProperties(), size).size
        flambeau.Size([2])
    """

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: flambeau.Size


@dataclass(frozen=True)
class WriteItem:
    """One thing to write.

    Args:
        index: its name.
        type: what it is.
        bytes_io_data, tensor_data: what is known of it.

    Example:
        >>> from flambeau.distributed.checkpoint.metadata import MetadataIndex
        >>> from flambeau.distributed.checkpoint.planner import WriteItem, WriteItemType
        >>> WriteItem(MetadataIndex("epoch"), WriteItemType.BYTE_IO).index.fqn
        'epoch'
    """

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Bytes of the whole tensor; None of what is none."""
        if self.tensor_data is None:
            return None
        count: int = reduce(operator.mul, self.tensor_data.size, 1)
        return count * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """One thing to read.

    Args:
        type: what it is.
        dest_index, dest_offsets: where it goes to.
        storage_index, storage_offsets: what it is called in the checkpoint, and where it begins
            there.
        lengths: its extents.

    Example:
        >>> from flambeau.distributed.checkpoint.metadata import MetadataIndex
        >>> from flambeau.distributed.checkpoint.planner import LoadItemType, ReadItem
        >>> name, none = MetadataIndex("epoch"), flambeau.Size([0])
        >>> ReadItem(LoadItemType.BYTE_IO, name, none, name, none, none).dest_index.fqn
        'epoch'
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: flambeau.Size
    storage_index: MetadataIndex
    storage_offsets: flambeau.Size
    lengths: flambeau.Size


@dataclass(frozen=True)
class SavePlan:
    """What a process writes.

    Args:
        items: the parts.
        storage_data, planner_data: what the storage and the planner of the process note.
        usable: whether it is complete.

    Example:
        >>> from flambeau.distributed.checkpoint import SavePlan
        >>> SavePlan([]).items
        []
    """

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads.

    Args:
        items: the parts.
        storage_data, planner_data: what the storage and the planner of the process note.

    Example:
        >>> from flambeau.distributed.checkpoint import LoadPlan
        >>> LoadPlan([]).items
        []
    """

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Decides what is written. `save` calls the methods in the order in which they stand here; the
    third in the first process alone. `DefaultSavePlanner` has all of them.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> class Renamed(checkpoint.DefaultSavePlanner):
        ...     def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        ...         state = {f"old_{name}": value for name, value in state_dict.items()}
        ...         super().set_up_planner(state, storage_meta, is_coordinator)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = checkpoint.save({"x": flambeau.ones(2)}, checkpoint_id=folder,
        ...                             planner=Renamed())
        >>> list(found.state_dict_metadata)
        ['old_x']
    """

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Takes the state; in the first process with `is_coordinator`."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this process would write."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each process writes, and what the checkpoint will hold; in the first process."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """What this process writes, in the end."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """A tensor, or the bytes, of an item."""


class LoadPlanner:
    """Decides what is read, and where to. `load` calls the methods in the order in which they stand
    here; the third in the first process alone; the last four for each item. `DefaultLoadPlanner`
    has all of them.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> class Counting(checkpoint.DefaultLoadPlanner):
        ...     count = 0
        ...     def commit_tensor(self, read_item, tensor):
        ...         self.count += tensor.numel()
        >>> planner = Counting()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = checkpoint.save({"x": flambeau.ones(2)}, checkpoint_id=folder)
        ...     checkpoint.load({"x": flambeau.zeros(2)}, checkpoint_id=folder, planner=planner)
        >>> planner.count
        2
    """

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Takes the state that is filled, and what the checkpoint holds."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this process would read."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each process reads; in the first process."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """What this process reads, in the end."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Takes what was read of an item that is no tensor."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where the bytes of an item go to, for storages that write into them."""
        raise NotImplementedError(f"{type(self).__name__}.resolve_bytes() is not defined")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The tensor that an item is read into."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Hears that the tensor of `resolve_tensor` is filled."""
