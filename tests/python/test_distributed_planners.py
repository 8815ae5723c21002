"""Checkpoints by planners and storages that a program defines itself."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed_tools import ranks

import flambeau
from flambeau.distributed import checkpoint
from flambeau.distributed.checkpoint import (
    CheckpointException,
    DefaultLoadPlanner,
    DefaultSavePlanner,
    FileSystemReader,
    FileSystemWriter,
    StorageReader,
    StorageWriter,
)
from flambeau.distributed.checkpoint.default_planner import (
    _EmptyStateDictLoadPlanner,
    create_default_global_save_plan,
)
from flambeau.distributed.checkpoint.planner import LoadItemType, WriteItemType
from flambeau.distributed.checkpoint.state_dict_loader import _load_state_dict
from flambeau.distributed.checkpoint.storage import WriteResult
from flambeau.futures import Future


class _Halves(DefaultSavePlanner):
    """Writes tensors as halves, and notes which process it was."""

    def create_local_plan(self) -> Any:
        plan = super().create_local_plan()
        for item in plan.items:
            if item.tensor_data is not None:
                item.tensor_data.properties.dtype = flambeau.float16
        return plan

    def create_global_plan(self, all_plans: Any) -> Any:
        plans, metadata = super().create_global_plan(all_plans)
        return plans, replace(metadata, planner_data={"count": len(plans)})

    def resolve_data(self, write_item: Any) -> Any:
        data = super().resolve_data(write_item)
        is_tensor = isinstance(data, flambeau.Tensor)
        return data.half() if is_tensor else data  # type: ignore[union-attr]


class _Renamed(DefaultLoadPlanner):
    def set_up_planner(
        self, state_dict: Any, metadata: Any = None, is_coordinator: bool = False
    ) -> None:
        renamed = {name.removeprefix("new_"): value for name, value in state_dict.items()}
        super().set_up_planner(renamed, metadata, is_coordinator)


def test_planners_of_ones_own(tmp_path: Path) -> None:
    state = {"x": flambeau.tensor([1.0, 1 / 3]), "epoch": 3}
    found = checkpoint.save(state, checkpoint_id=tmp_path, planner=_Halves())
    kept: Any = found.state_dict_metadata["x"]
    assert kept.properties.dtype is flambeau.float16 and kept.chunks[0].sizes == (2,)
    assert FileSystemReader(tmp_path).read_metadata().planner_data == {"count": 1}
    filled: Any = {"new_x": flambeau.zeros(2)}
    checkpoint.load(filled, checkpoint_id=tmp_path, planner=_Renamed())
    assert filled["new_x"].tolist() == [1, pytest.approx(1 / 3, abs=1e-3)]
    assert filled["new_x"].dtype is flambeau.float32
    whole: Any = {}
    reader = FileSystemReader(tmp_path)
    _load_state_dict(whole, reader, no_dist=True, planner=_EmptyStateDictLoadPlanner({"x"}))
    assert list(whole) == ["x"] and whole["x"].dtype is flambeau.float16


def test_a_state_that_is_not_flattened(tmp_path: Path) -> None:
    state: Any = {"x": flambeau.ones(2), "more": {"list": [1, 2]}}
    planner = DefaultSavePlanner(flatten_state_dict=False)
    found = checkpoint.save(state, checkpoint_id=tmp_path, planner=planner)
    assert sorted(found.state_dict_metadata) == ["more", "x"] and found.planner_data is None
    filled: Any = {"x": flambeau.zeros(2), "more": None}
    loading = DefaultLoadPlanner(flatten_state_dict=False)
    checkpoint.load(filled, checkpoint_id=tmp_path, planner=loading)
    assert filled["more"] == {"list": [1, 2]} and filled["x"].tolist() == [1, 1]


class _Memory(StorageWriter, StorageReader):
    """Keeps checkpoints in a dict."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}
        self.calls: list[str] = []

    def reset(self, checkpoint_id: Any = None) -> None:
        self.calls.append(f"reset {checkpoint_id}")

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.calls.append(f"writer {is_coordinator}")

    def set_up_storage_reader(self, metadata: Any, is_coordinator: bool) -> None:
        self.calls.append(f"reader {is_coordinator}")

    def prepare_local_plan(self, plan: Any) -> Any:
        return plan

    def prepare_global_plan(self, plans: Any) -> Any:
        return plans

    def write_data(self, plan: Any, planner: Any) -> Any:
        for item in plan.items:
            data = planner.resolve_data(item)
            is_bytes = item.type is WriteItemType.BYTE_IO
            self.kept[item.index] = data.getvalue() if is_bytes else data.clone()
        future: Any = Future()
        future.set_result([WriteResult(item.index, 0, None) for item in plan.items])
        return future

    def finish(self, metadata: Any, results: Any) -> None:
        self.kept["metadata"] = metadata
        self.calls.append(f"finish {[len(each) for each in results]}")

    def read_metadata(self) -> Any:
        return self.kept["metadata"]

    def read_data(self, plan: Any, planner: Any) -> Any:
        for item in plan.items:
            data = self.kept[item.storage_index]
            if item.type is LoadItemType.BYTE_IO:
                planner.load_bytes(item, io.BytesIO(data))
            else:
                target = planner.resolve_tensor(item).copy_(data)
                planner.commit_tensor(item, target)
        future: Any = Future()
        future.set_result(None)
        return future

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return True


def test_a_storage_of_ones_own() -> None:
    memory = _Memory()
    state = {"model": {"x": flambeau.ones(2, 3)}, "names": ["a"]}
    checkpoint.save(state, storage_writer=memory, checkpoint_id="first")
    filled: Any = {"model": {"x": flambeau.zeros(2, 3)}, "names": None}
    checkpoint.load(filled, storage_reader=memory)
    assert filled["model"]["x"].sum() == 6 and filled["names"] == ["a"]
    assert memory.calls == ["reset first", "writer True", "finish [2]", "reset None", "reader True"]
    with pytest.raises(CheckpointException, match="model.x is .2, 3. in the checkpoint, and no"):
        checkpoint.load({"model": {"x": 0}}, storage_reader=memory)


class _Counting(FileSystemWriter):
    results: Any = None

    def finish(self, metadata: Any, results: Any) -> None:
        self.results = [len(each) for each in results]
        super().finish(metadata, results)


def _save(rank: int, size: int, folder: Path) -> Any:
    writer = _Counting(folder, sync_files=False)
    planner = DefaultSavePlanner(dedup_save_to_lowest_rank=True)
    state = {"x": flambeau.ones(2), "y": flambeau.ones(2), f"own{rank}": flambeau.ones(1)}
    checkpoint.save(state, storage_writer=writer, planner=planner)
    return writer.results


def test_the_first_process_writes_what_all_have(tmp_path: Path) -> None:
    assert ranks(2, _save, tmp_path) == [[3, 1], None]
    assert FileSystemWriter.validate_checkpoint_id(tmp_path)
    assert not FileSystemReader.validate_checkpoint_id("s3://bucket/x")


def test_plans_that_do_not_fit() -> None:
    planner = DefaultSavePlanner()
    planner.set_up_planner({"x": flambeau.ones(2)})
    plan = planner.create_local_plan()
    assert plan.items[0].tensor_storage_size() == 8
    with pytest.raises(ValueError, match="'x' is in two plans"):
        create_default_global_save_plan([plan, plan])
    loading = DefaultLoadPlanner()
    loading.set_up_planner({})
    with pytest.raises(RuntimeError, match="set_up_planner"):
        loading.create_local_plan()
    with pytest.raises(TypeError, match="abstract"):
        checkpoint.SavePlanner()  # type: ignore[abstract]
