"""Writing the states of several processes into one folder: `save`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from flambeau import Tensor
from flambeau.distributed.checkpoint.default_planner import DefaultSavePlanner
from flambeau.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter, entry_of
from flambeau.distributed.checkpoint.flat import Path, flattened
from flambeau.distributed.checkpoint.metadata import Metadata
from flambeau.distributed.checkpoint.stateful import Stateful
from flambeau.distributed.checkpoint.together import Team

__all__ = ["save"]


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
    writer = storage_writer or (FileSystemWriter(checkpoint_id) if checkpoint_id else None)
    if writer is None:
        raise ValueError("save(): give a folder, checkpoint_id, or a storage_writer")
    team = Team(process_group, no_dist)
    entries = flattened(
        {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state_dict.items()}
    )
    sizes = {name: _bytes_of(value) for name, (_, value) in entries.items()}
    owners = _owners(team.each("save", lambda: _begun(writer, sizes)))
    file = f"__{team.rank}_0.distcp"
    own = {name: entries[name] for name in entries if owners[name] == team.rank}
    told = team.each("save", lambda: _written(writer, file, own))
    index = {name: entry for part in told for name, entry in part.items()}
    team.each("save", lambda: writer.finish(index) if team.rank == 0 else None)
    return FileSystemReader(writer.path).read_metadata()


def _begun(writer: FileSystemWriter, sizes: dict[str, int | None]) -> dict[str, int | None]:
    writer.begin()
    return sizes


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


def _written(
    writer: FileSystemWriter, file: str, own: dict[str, tuple[Path, Any]]
) -> dict[str, dict[str, Any]]:
    if own:
        writer.write(file, {name: value for name, (_, value) in own.items()})
    return {name: entry_of(path, value, file) for name, (path, value) in own.items()}
