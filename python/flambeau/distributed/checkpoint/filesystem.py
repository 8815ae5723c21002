"""Checkpoints as folders: a file of each process, and one that says what is where.

`checkpoint.json` is written last, so that a folder without it is no checkpoint. A file is made of
what `flambeau.save` writes of each entry, one after the other.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed.checkpoint.default_planner import box
from flambeau.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from flambeau.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
)
from flambeau.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from flambeau.futures import Future

__all__ = ["FileSystemReader", "FileSystemWriter"]

_INDEX, _NOTES = "checkpoint.json", "planner_data.pt"
_FORMAT = 2


@dataclass(frozen=True)
class _Place:
    """Where an entry is."""

    relative_path: str
    offset: int
    length: int


class FileSystemWriter(StorageWriter):
    """Where a checkpoint is written.

    Args:
        path: the folder, which is made.
        overwrite: False: it must hold no checkpoint.
        sync_files: whether to wait until the disk has it.
        others: accepted: a process writes one file, in one thread.

    Raises:
        RuntimeError: there is a checkpoint already.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = checkpoint.save({"x": flambeau.ones(2)},
        ...                         storage_writer=checkpoint.FileSystemWriter(folder))
        ...     state = {"x": flambeau.zeros(2)}
        ...     checkpoint.load(state, storage_reader=checkpoint.FileSystemReader(folder))
        >>> state["x"]
        tensor([1., 1.])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
    ) -> None:
        self.path = Path(path)
        self._syncs, self._overwrites = sync_files, overwrite

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins a checkpoint in that folder; None: in the same."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Prepares nothing: the folder is made for the plan."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Makes the folder; what was in it is no checkpoint any more."""
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _INDEX).exists() and not self._overwrites:
            raise RuntimeError(f"{self.path} holds a checkpoint already, and overwrite is False")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Gives each process a file."""
        (self.path / _INDEX).unlink(missing_ok=True)
        return [replace(p, storage_data=f"__{rank}_0.distcp") for rank, p in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Writes the file of this process, unless it would be empty."""
        results = []
        if plan.items:
            with (self.path / plan.storage_data).open("wb") as file:
                results = [self._write(file, plan.storage_data, i, planner) for i in plan.items]
                if self._syncs:
                    file.flush()
                    os.fsync(file.fileno())
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def _write(self, file: Any, name: str, item: WriteItem, planner: SavePlanner) -> WriteResult:
        start = file.tell()
        value = planner.resolve_data(item)
        if isinstance(value, Tensor):
            buffer = io.BytesIO()
            flambeau.save(_alone(value), buffer)
            value = buffer
        file.write(value.getbuffer())
        length = file.tell() - start
        return WriteResult(item.index, length, _Place(name, start, length))

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Says what is where."""
        metadata.storage_data = {r.index: r.storage_data for mine in results for r in mine}
        metadata.storage_meta = self.storage_meta()
        told = {"format": _FORMAT, "entries": _entries(metadata)}
        if metadata.planner_data is not None:
            flambeau.save(metadata.planner_data, self.path / _NOTES)
        else:
            (self.path / _NOTES).unlink(missing_ok=True)
        partial = self.path / f"{_INDEX}.partial"
        with partial.open("w") as file:
            file.write(json.dumps(told, indent=1))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path / _INDEX)

    def storage_meta(self) -> StorageMeta:
        """The folder."""
        return StorageMeta(checkpoint_id=self.path)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path of this computer, not an address."""
        return isinstance(checkpoint_id, os.PathLike) or "://" not in str(checkpoint_id)


class FileSystemReader(StorageReader):
    """Where a checkpoint is read.

    Args:
        path: the folder.

    Raises:
        RuntimeError: from what reads, if it is no checkpoint.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed import checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = checkpoint.save({"x": flambeau.ones(2)}, checkpoint_id=folder)
        ...     checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata["x"].size
        flambeau.Size([2])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Reads that folder; None: the same."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)

    def read_metadata(self) -> Metadata:
        """What is in the checkpoint."""
        index = self.path / _INDEX
        if not index.exists():
            what = "PyTorch's, which" if (self.path / ".metadata").exists() else "no checkpoint: it"
            raise RuntimeError(f"{self.path} is {what} has no {_INDEX}")
        told = json.loads(index.read_text())
        if told.get("format") != _FORMAT:
            raise RuntimeError(f"{index}: format {told.get('format')!r} is not known")
        found: dict[str, Any] = {}
        places = {}
        for name, entry in told["entries"].items():
            found[name] = _entry_metadata(entry)
            for offset, *place in entry["places"]:
                places[MetadataIndex(name, offset)] = _Place(*place)
        notes = self.path / _NOTES
        noted = flambeau.load(notes, weights_only=True) if notes.exists() else None
        return Metadata(found, noted, places, StorageMeta(checkpoint_id=self.path))

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool) -> None:
        """Remembers where the entries are."""
        self._places: dict[MetadataIndex, _Place] = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan itself."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans themselves."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Reads the items: each file once, from its beginning to its end."""
        by_file: dict[str, list[tuple[int, int, ReadItem]]] = {}
        for item in plan.items:
            place = self._places[item.storage_index]
            by_file.setdefault(place.relative_path, []).append((place.offset, place.length, item))
        for name, asked in by_file.items():
            if Path(name).name != name:
                raise RuntimeError(f"{self.path / _INDEX}: {name!r} is no file of the folder")
            with (self.path / name).open("rb") as file:
                for offset, length, item in sorted(asked, key=itemgetter(0)):
                    file.seek(offset)
                    self._read_item(item, io.BytesIO(file.read(length)), planner)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def _read_item(self, item: ReadItem, content: io.BytesIO, planner: LoadPlanner) -> None:
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, content)
            return
        whole = flambeau.load(content, weights_only=True)
        part = box(whole, item.storage_offsets, item.lengths)
        target = planner.resolve_tensor(item).detach()
        if target.shape != part.shape:
            raise RuntimeError(
                f"{item.storage_index.fqn}: a tensor of shape {tuple(part.shape)} is read into "
                f"one of shape {tuple(target.shape)}"
            )
        with flambeau.no_grad():
            target.copy_(part)
        planner.commit_tensor(item, target)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path of this computer, not an address."""
        return FileSystemWriter.validate_checkpoint_id(checkpoint_id)


def _alone(value: Tensor) -> Tensor:
    """Without what else is in its memory, which would be written, too."""
    value = value.detach()
    if value.layout is not flambeau.strided:
        return value
    is_whole = value.untyped_storage().nbytes() == value.numel() * value.element_size()
    return value if is_whole else value.clone()


def _entries(metadata: Metadata) -> dict[str, dict[str, Any]]:
    """What the index says of each value."""
    found: dict[str, dict[str, Any]] = {}
    for name, kept in metadata.state_dict_metadata.items():
        entry: dict[str, Any] = {"places": []}
        if isinstance(kept, TensorStorageMetadata):
            entry["size"] = list(kept.size)
            entry["dtype"] = kept.properties.dtype.name
            entry["requires_grad"] = kept.properties.requires_grad
            entry["chunks"] = [[list(c.offsets), list(c.sizes)] for c in kept.chunks]
        found[name] = entry
    for index, place in metadata.storage_data.items():
        offset = None if index.offset is None else list(index.offset)
        told = [offset, place.relative_path, place.offset, place.length]
        found[index.fqn]["places"].append(told)
    return found


def _entry_metadata(entry: dict[str, Any]) -> TensorStorageMetadata | BytesStorageMetadata:
    if "dtype" not in entry:
        return BytesStorageMetadata()
    dtype = getattr(flambeau, entry["dtype"])
    properties = TensorProperties(dtype=dtype, requires_grad=entry["requires_grad"])
    chunks = [ChunkStorageMetadata(*map(flambeau.Size, chunk)) for chunk in entry["chunks"]]
    return TensorStorageMetadata(properties, flambeau.Size(entry["size"]), chunks)
