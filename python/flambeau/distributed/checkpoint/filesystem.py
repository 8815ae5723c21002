"""Checkpoints as folders: a file of each process, and one that says what is where.

`checkpoint.json` is written last, so that a folder without it is no checkpoint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)

__all__ = ["FileSystemReader", "FileSystemWriter"]

_INDEX = "checkpoint.json"
_FORMAT = 1


class FileSystemWriter:
    """Where a checkpoint is written.

    Args:
        path: the folder, which is made.
        overwrite: False: it must hold no checkpoint.
        sync_files: whether to wait until the disk has it.
        others: accepted: a process writes one file.

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

    def begin(self) -> None:
        """Makes the folder; what was in it is no checkpoint any more."""
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _INDEX).exists():
            if not self._overwrites:
                raise RuntimeError(
                    f"{self.path} holds a checkpoint already, and overwrite is False"
                )
            (self.path / _INDEX).unlink()

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Writes a file of a process."""
        own = {k: _alone(v) if isinstance(v, Tensor) else v for k, v in values.items()}
        target = self.path / name
        flambeau.save(own, target)
        if self._syncs:
            with target.open("rb+") as file:
                os.fsync(file.fileno())

    def finish(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        """Says what is where."""
        text = json.dumps({"format": _FORMAT, "entries": entries}, indent=1)
        partial = self.path / f"{_INDEX}.partial"
        with partial.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path / _INDEX)


class FileSystemReader:
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
        for name, entry in told["entries"].items():
            if "dtype" in entry:
                dtype = getattr(flambeau, entry["dtype"])
                size = flambeau.Size(entry["size"])
                found[name] = TensorStorageMetadata(size, dtype, entry["file"])
            else:
                found[name] = BytesStorageMetadata(entry["file"])
        return Metadata(found, {n: tuple(e["path"]) for n, e in told["entries"].items()})

    def read(self, metadata: Metadata, names: Iterable[str]) -> dict[str, Any]:
        """Values by name; elements of tensors are read when they are needed."""
        files: dict[str, Any] = {}
        found = {}
        for name in names:
            file = metadata.state_dict_metadata[name].file
            if Path(file).name != file:
                raise RuntimeError(f"{self.path / _INDEX}: {file!r} is no file of the folder")
            if file not in files:
                files[file] = flambeau.load(self.path / file, mmap=True, weights_only=True)
            found[name] = files[file][name]
        return found


def _alone(value: Tensor) -> Tensor:
    """Without what else is in its memory, which would be written, too."""
    value = value.detach()
    is_whole = value.untyped_storage().nbytes() == value.numel() * value.element_size()
    return value if is_whole else value.clone()


def entry_of(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """What the index says of a value, but for the file that it is in."""
    entry: dict[str, Any] = {"path": list(path)}
    if isinstance(value, Tensor):
        entry |= {"size": list(value.shape), "dtype": value.dtype.name}
    return entry
