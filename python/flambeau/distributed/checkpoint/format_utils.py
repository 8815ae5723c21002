"""One file in place of a folder, and back."""

from __future__ import annotations

import os
from typing import Any

import flambeau
from flambeau.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from flambeau.distributed.checkpoint.filesystem import FileSystemReader
from flambeau.distributed.checkpoint.state_dict_loader import _load_state_dict
from flambeau.distributed.checkpoint.state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Writes what a folder holds into one file.

    Args:
        dcp_checkpoint_dir: the folder.
        torch_save_path: the file, for `flambeau.load`.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed.checkpoint import format_utils, save
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = save({"model": {"x": flambeau.ones(2)}}, checkpoint_id=folder)
        ...     format_utils.dcp_to_torch_save(folder, f"{folder}/whole.pt")
        ...     flambeau.load(f"{folder}/whole.pt")
        {'model': {'x': tensor([1., 1.])}}
    """
    state: dict[str, Any] = {}
    reader, planner = FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner()
    _load_state_dict(state, reader, no_dist=True, planner=planner)
    flambeau.save(state, torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Writes what a file holds into a folder. To be called in one process.

    Args:
        torch_save_path: a file of `flambeau.save`, with a dict.
        dcp_checkpoint_dir: the folder.

    Example:
        >>> import tempfile
        >>> from flambeau.distributed.checkpoint import FileSystemReader, format_utils
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     flambeau.save({"x": flambeau.ones(2)}, f"{folder}/whole.pt")
        ...     format_utils.torch_save_to_dcp(f"{folder}/whole.pt", f"{folder}/parts")
        ...     list(FileSystemReader(f"{folder}/parts").read_metadata().state_dict_metadata)
        ['x']
    """
    state = flambeau.load(torch_save_path, mmap=True, weights_only=True)
    save(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
