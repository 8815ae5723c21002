# mypy: implicit-reexport
"""Checkpoints that several processes write into one folder, and read from it, as many or others.

from flambeau.distributed import checkpoint
from flambeau.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

model_state, optimizer_state = get_state_dict(model, optimizer)
checkpoint.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id="step_100")

checkpoint.load({"model": model_state, "optimizer": optimizer_state}, checkpoint_id="step_100")
set_state_dict(model, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
"""

from __future__ import annotations

from flambeau import _lazy
from flambeau.distributed.checkpoint.api import CheckpointException
from flambeau.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from flambeau.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from flambeau.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from flambeau.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
)
from flambeau.distributed.checkpoint.state_dict_loader import load, load_state_dict
from flambeau.distributed.checkpoint.state_dict_saver import async_save, save, save_state_dict
from flambeau.distributed.checkpoint.storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "LoadPlan",
    "LoadPlanner",
    "Metadata",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "StorageReader",
    "StorageWriter",
    "TensorStorageMetadata",
    "WriteItem",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]

__getattr__ = _lazy.unavailable(
    __name__, "save and load write and read folders, and tensors are whole in each process"
)
