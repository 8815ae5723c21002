"""Reading a state from a folder that several processes have written: `load`."""

from __future__ import annotations

import os
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed.checkpoint.default_planner import DefaultLoadPlanner
from flambeau.distributed.checkpoint.filesystem import FileSystemReader
from flambeau.distributed.checkpoint.flat import flattened, put
from flambeau.distributed.checkpoint.stateful import Stateful
from flambeau.distributed.checkpoint.together import Team

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: DefaultLoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fills a state from a folder that `save` has written, of as many processes or of others.

    Tensors are written into, other values are replaced; of a `Stateful` the state is taken over. A
    process reads only what its state names.

    Args:
        state_dict: what is filled.
        checkpoint_id: the folder.
        storage_reader: in its place.
        planner: `DefaultLoadPlanner(allow_partial_load=True)` leaves what the folder lacks.
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
    reader = storage_reader or (FileSystemReader(checkpoint_id) if checkpoint_id else None)
    if reader is None:
        raise ValueError("load(): give a folder, checkpoint_id, or a storage_reader")
    partial = planner is not None and planner.allow_partial_load
    Team(process_group, no_dist).each("load", lambda: _filled(state_dict, reader, partial))


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: FileSystemReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: DefaultLoadPlanner | None = None,
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


def _filled(state_dict: dict[str, Any], reader: FileSystemReader, partial: bool) -> None:
    owners = {key: value for key, value in state_dict.items() if isinstance(value, Stateful)}
    state = {k: v.state_dict() if k in owners else v for k, v in state_dict.items()}
    metadata = reader.read_metadata()
    entries = flattened(state)
    missing = [name for name in entries if name not in metadata.state_dict_metadata]
    if missing and not partial:
        raise RuntimeError(
            f"{reader.path} lacks {', '.join(missing[:5])}{', ...' * (len(missing) > 5)}"
        )
    found = reader.read(metadata, (name for name in entries if name not in missing))
    for name, value in found.items():
        path, target = entries[name]
        if not isinstance(target, Tensor):
            put(state, path, value)
            continue
        if not isinstance(value, Tensor) or value.shape != target.shape:
            shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise RuntimeError(
                f"{name} is {shape} in {reader.path}, and {tuple(target.shape)} here"
            )
        with flambeau.no_grad():
            target.detach().copy_(value)
    for key, value in state.items():
        if key in owners:
            owners[key].load_state_dict(value)
        else:
            state_dict[key] = value
