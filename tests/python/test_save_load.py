"""Saving and loading: values, sharing, and what a file may not do."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn, optim, serialization


def round_trip(value: Any, **options: Any) -> Any:
    buffer = io.BytesIO()
    flambeau.save(value, buffer)
    buffer.seek(0)
    return flambeau.load(buffer, **options)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
)
def test_every_dtype(dtype: str) -> None:
    kind = getattr(flambeau, dtype)
    tensor = flambeau.tensor([[0, 1, 2], [3, 4, 5]]).to(kind)
    loaded = round_trip(tensor)
    assert loaded.dtype == kind
    assert flambeau.equal(loaded, tensor)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3)])
def test_shapes(shape: tuple[int, ...]) -> None:
    assert tuple(round_trip(flambeau.zeros(shape)).shape) == shape


def test_containers_and_options() -> None:
    value = {
        "a": [flambeau.ones(2), 1, 2.5, "text", None, True],
        "b": OrderedDict(x=(1, 2j)),
        "size": flambeau.Size([1, 2]),
        "dtype": flambeau.float16,
        "device": flambeau.device("cpu"),
        "set": {1, 2},
    }
    loaded = round_trip(value)
    assert flambeau.equal(loaded["a"].pop(0), flambeau.ones(2))
    value["a"].pop(0)  # type: ignore[attr-defined]
    assert loaded == value


def test_views_share_their_storage_again() -> None:
    whole = flambeau.arange(6).float()
    loaded = round_trip({"whole": whole, "view": whole.view(2, 3).t()})
    assert loaded["view"].stride() == (1, 3)
    loaded["whole"][5] = 50
    assert loaded["view"][2, 1].item() == 50


def test_requires_grad_and_parameters() -> None:
    leaf = flambeau.ones(2, requires_grad=True)
    assert round_trip(leaf).requires_grad
    parameter = round_trip(nn.Parameter(flambeau.ones(2), requires_grad=False))
    assert isinstance(parameter, nn.Parameter)
    assert not parameter.requires_grad


def test_model_and_optimizer_through_a_file(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = optim.Adam(model.parameters())
    for _ in range(2):
        model(flambeau.randn(5, 3)).sum().backward()
        optimizer.step()
    path = tmp_path / "checkpoint.pt"
    flambeau.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    state = flambeau.load(path)
    other = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    other.load_state_dict(state["model"])
    second = optim.Adam(other.parameters())
    second.load_state_dict(state["optimizer"])
    x = flambeau.randn(5, 3)
    for m, o in ((model, optimizer), (other, second)):
        o.zero_grad()
        m(x).sum().backward()
        o.step()
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


class Attack:
    def __reduce__(self) -> Any:
        return os.system, ("echo never",)


def test_code_in_a_file_does_not_run() -> None:
    with pytest.raises(pickle.UnpicklingError, match="system"):
        round_trip({"model": Attack()})
    # Through a name that a module of flambeau happens to import.
    with pytest.raises(pickle.UnpicklingError, match="weights_only"):
        round_trip(serialization.saving.os.getcwd)


class Own:
    def __init__(self, value: int) -> None:
        self.value = value


def test_classes_of_the_user_can_be_allowed() -> None:
    with pytest.raises(pickle.UnpicklingError, match="Own"):
        round_trip(Own(3))
    with serialization.safe_globals([Own]):
        assert round_trip(Own(3)).value == 3
    assert round_trip(Own(3), weights_only=False).value == 3
    assert serialization.get_safe_globals() == []


def test_map_location() -> None:
    tensor = flambeau.ones(2)
    assert round_trip(tensor, map_location="cpu").device.type == "cpu"
    assert round_trip(tensor, map_location={"cpu": "cpu"}).tolist() == [1, 1]
    seen: list[str] = []
    round_trip(tensor, map_location=lambda storage, place: seen.append(place))
    assert seen == ["cpu"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(RuntimeError, match=r"file' is not a file written by flambeau\.save"):
        flambeau.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(RuntimeError, match="zip file"):
        flambeau.load(path)
    with pytest.raises(FileNotFoundError):
        flambeau.load(tmp_path / "nosuch")
