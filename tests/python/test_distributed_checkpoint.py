"""Checkpoints of several processes: each writes a part, and any number of them reads it again."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed_tools import ranks

import flambeau
from flambeau import nn, optim
from flambeau.distributed import checkpoint
from flambeau.distributed.checkpoint import (
    CheckpointException,
    DefaultLoadPlanner,
    FileSystemReader,
    FileSystemWriter,
    format_utils,
)
from flambeau.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from flambeau.distributed.checkpoint.state_dict_saver import _warn
from flambeau.nn.parallel import DistributedDataParallel


def network() -> nn.Module:
    flambeau.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def steps(model: nn.Module, optimizer: Any, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        x = flambeau.from_numpy(rng.normal(size=(5, 3)).astype(np.float32))
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def trained(model: nn.Module) -> Any:
    return optim.Adam(model.parameters(), lr=0.05)


def arrays(model: nn.Module) -> list[Any]:
    return [np.array(v.tolist()) for v in model.state_dict().values()]


def _save(rank: int, size: int, folder: Path) -> tuple[list[Any], list[str]]:
    model = DistributedDataParallel(network())
    optimizer = trained(model)
    steps(model, optimizer, 3, 0)
    mine, its = get_state_dict(model, optimizer)
    own = {f"rank{rank}": flambeau.full((2,), float(rank)), "names": ["a", rank], "epoch": 7}
    found = checkpoint.save({"model": mine, "optimizer": its, "own": own}, checkpoint_id=folder)
    steps(model, optimizer, 2, 5)
    return arrays(model.module), sorted(found.state_dict_metadata)


def test_training_goes_on_with_another_number_of_processes(tmp_path: Path) -> None:
    (expected, names), (_, others) = ranks(2, _save, tmp_path)
    assert names == others and "optimizer.state.0.weight.exp_avg" in names
    assert {"own.rank0", "own.rank1", "own.names", "own.epoch"} <= set(names)
    places = FileSystemReader(tmp_path).read_metadata().storage_data
    files = {place.relative_path for place in places.values()}
    assert files == {"__0_0.distcp", "__1_0.distcp"}  # both had a part to write
    model = network()
    optimizer = trained(model)
    with flambeau.no_grad():
        for p in model.parameters():
            p.fill_(9.0)
    mine, its = get_state_dict(model, optimizer)
    own = {"rank1": flambeau.zeros(2), "names": None, "epoch": 0}
    state = {"model": mine, "optimizer": its, "own": own}
    checkpoint.load(state, checkpoint_id=tmp_path)
    set_state_dict(model, optimizer, model_state_dict=mine, optim_state_dict=its)
    assert own["rank1"].tolist() == [1, 1] and own["epoch"] == 7  # type: ignore[attr-defined]
    assert own["names"] == ["a", 0]  # what is no tensor is the first process's
    steps(model, optimizer, 2, 5)
    for a, b in zip(arrays(model), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def _fail(rank: int, size: int, folder: Path) -> list[str]:
    told = []
    state = {"x": flambeau.zeros(2)} if rank == 0 else {"y": flambeau.zeros(2)}
    for _ in range(2):
        try:
            checkpoint.load(state, checkpoint_id=folder)
        except CheckpointException as error:
            told.append(str(error))
            assert list(error.failures) == [1]
    return told


def test_all_processes_hear_of_a_failure(tmp_path: Path) -> None:
    checkpoint.save({"x": flambeau.ones(2)}, checkpoint_id=tmp_path)
    for told in ranks(2, _fail, tmp_path):
        assert len(told) == 2 and "load failed in process 1: RuntimeError" in told[0]
        assert told[0].endswith("lacks y")


def _save_beside(rank: int, size: int, folder: Path) -> tuple[list[float], list[float]]:
    x = flambeau.full((3,), rank + 1.0)
    futures = []
    for number in range(3):
        state = {f"x{rank}": x, "step": number}
        futures.append(checkpoint.async_save(state, checkpoint_id=folder / str(number)))
        flambeau.distributed.all_reduce(x)  # the state may change, and the group is free
    told = [sorted(future.result(timeout=20).state_dict_metadata) for future in futures]
    assert told == [["step", "x0", "x1"]] * 3
    found = []
    for number in range(3):
        state = {"x0": flambeau.zeros(3), "step": -1}
        checkpoint.load_state_dict(state, FileSystemReader(folder / str(number)))
        assert state["step"] == number
        found.append(state["x0"][0].item())
    return found, x.tolist()


@pytest.mark.filterwarnings("ignore:async_save")
def test_saving_beside_the_training(tmp_path: Path) -> None:
    assert ranks(2, _save_beside, tmp_path) == [([1.0, 3.0, 6.0], [12.0] * 3)] * 2
    (tmp_path / "file").touch()
    future = checkpoint.async_save({"x": 1}, checkpoint_id=tmp_path / "file" / "below")
    assert isinstance(future.exception(timeout=20), CheckpointException)
    with pytest.warns(UserWarning, match="is no checkpoint: save failed in process 0"):
        _warn(future, FileSystemWriter(tmp_path))
    with pytest.raises(ValueError, match=r"async_save\(\): give a folder"):
        checkpoint.async_save({})
    with pytest.raises(ValueError, match="async_stager must be None"):
        checkpoint.async_save({}, checkpoint_id=tmp_path, async_stager=object())


def test_objects_with_states(tmp_path: Path) -> None:
    model, other = network(), network()
    steps(model, trained(model), 1, 0)
    checkpoint.save({"model": model, "sizes": [1, {"a": 2}]}, checkpoint_id=tmp_path)
    state = {"model": other, "sizes": [0, {"a": 0}]}
    checkpoint.load(state, checkpoint_id=tmp_path)
    assert state["model"] is other and state["sizes"] == [1, {"a": 2}]
    for a, b in zip(arrays(model), arrays(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_file_and_back(tmp_path: Path) -> None:
    state = {"a": {"b": flambeau.arange(3), 4: "text"}, "list": [flambeau.ones(1), {"c": 1.5}]}
    checkpoint.save(state, checkpoint_id=tmp_path / "one")
    format_utils.dcp_to_torch_save(tmp_path / "one", tmp_path / "whole.pt")
    found = flambeau.load(tmp_path / "whole.pt")
    assert found["a"]["b"].tolist() == [0, 1, 2] and found["a"][4] == "text"
    assert found["list"][0].tolist() == [1] and found["list"][1] == {"c": 1.5}
    format_utils.torch_save_to_dcp(tmp_path / "whole.pt", tmp_path / "two")
    again: dict[str, Any] = {"a": {"b": flambeau.zeros(3, dtype=flambeau.int64)}}
    checkpoint.load(again, checkpoint_id=tmp_path / "two")
    assert again["a"]["b"].tolist() == [0, 1, 2]


def test_a_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = {f"{n}": flambeau.full((3,), float(n)) for n in range(20)} | {"text": "what was said"}
    checkpoint.save(state, checkpoint_id=tmp_path / "one")
    opened = []
    by_path = Path.open

    def count(path: Path, *args: Any, **options: Any) -> Any:
        opened.append(path.name)
        return by_path(path, *args, **options)

    found: dict[str, Any] = {f"{n}": flambeau.zeros(3) for n in reversed(range(20))}
    monkeypatch.setattr(Path, "open", count)
    checkpoint.load(found | {"text": ""}, checkpoint_id=tmp_path / "one")
    assert all(found[f"{n}"].tolist() == [n] * 3 for n in range(20))
    data = [name for name in opened if name.endswith(".distcp")]
    assert len(data) == len(set(data)) == 1


def test_what_is_wrong_with_a_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointException, match="is no checkpoint: it has no checkpoint.json"):
        checkpoint.load({"x": 1}, checkpoint_id=tmp_path)
    (tmp_path / ".metadata").touch()
    with pytest.raises(CheckpointException, match="is PyTorch's, which has no checkpoint.json"):
        checkpoint.load({"x": 1}, checkpoint_id=tmp_path)
    checkpoint.save({"x": flambeau.ones(2)}, checkpoint_id=tmp_path)
    state = {"x": flambeau.ones(3)}
    with pytest.raises(CheckpointException, match=r"x is \(2,\) in .*, and \(3,\) here"):
        checkpoint.load(state, checkpoint_id=tmp_path)
    state = {"x": flambeau.zeros(2), "more": flambeau.ones(1)}
    checkpoint.load(
        state, checkpoint_id=tmp_path, planner=DefaultLoadPlanner(allow_partial_load=True)
    )
    assert state["x"].tolist() == [1, 1] and state["more"].tolist() == [1]
    with pytest.raises(CheckpointException, match="holds a checkpoint already"):
        checkpoint.save(state, storage_writer=FileSystemWriter(tmp_path, overwrite=False))
    index = tmp_path / "checkpoint.json"
    index.write_text(index.read_text().replace("__0_0.distcp", "../other"))
    with pytest.raises(CheckpointException, match="is no file of the folder"):
        checkpoint.load({"x": flambeau.zeros(2)}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match="give a folder"):
        checkpoint.save({})
    with pytest.raises(ValueError, match="two values of the state are called 'a.b'"):
        checkpoint.save({"a": {"b": 1}, "a.b": 2}, checkpoint_id=tmp_path)


def test_options() -> None:
    model = nn.Sequential(OrderedDict(first=nn.Linear(1, 1), second=nn.Linear(1, 1)))
    model.first.requires_grad_(False)
    frozen = StateDictOptions(ignore_frozen_params=True)
    assert list(get_model_state_dict(model, options=frozen)) == ["second.weight", "second.bias"]
    found = get_model_state_dict(model, submodules={model.first})
    assert list(found) == ["first.weight", "first.bias"]
    with pytest.raises(NotImplementedError, match="flatten_optimizer_state_dict=False"):
        StateDictOptions(flatten_optimizer_state_dict=True)
    start = [p.detach().clone() for p in model.parameters()]
    one = optim.AdamW(model.second.parameters(), lr=0.1)
    two = optim.SGD(model.first.parameters(), lr=0.2, momentum=0.9)
    mine, its = get_state_dict(model, [one, two])
    assert all((a == b).all() for a, b in zip(start, model.parameters(), strict=True))
    assert [group["lr"] for group in its["param_groups"]] == [0.1, 0.2]
    one.param_groups[0]["lr"] = 0.7
    set_state_dict(model, [two, one], model_state_dict=mine, optim_state_dict=its)
    assert one.param_groups[0]["lr"] == 0.1 and two.param_groups[0]["lr"] == 0.2


def _broadcast(rank: int, size: int) -> float:
    model = nn.Linear(1, 1, bias=False)
    with flambeau.no_grad():
        model.weight.fill_(5.0 + rank)
    optimizer = optim.SGD(model.parameters(), lr=1.0 + rank)
    mine, its = get_state_dict(model, optimizer)
    options = StateDictOptions(broadcast_from_rank0=True)
    set_state_dict(model, optimizer, model_state_dict=mine, optim_state_dict=its, options=options)
    return float(model.weight.item() + optimizer.param_groups[0]["lr"])


def test_the_first_process_tells_all() -> None:
    assert ranks(2, _broadcast) == [6.0, 6.0]
