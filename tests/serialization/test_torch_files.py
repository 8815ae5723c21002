"""Files that PyTorch wrote: what they hold is what PyTorch says they hold."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path

import pytest
from file_described import described

import flambeau

FOLDER = Path(__file__).parent / "files"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED["contents"])
@pytest.mark.parametrize("way", ["path", "object", "mapped", "trusted"])
def test_content(name: str, way: str) -> None:
    path = FOLDER / name
    if way == "path":
        loaded = flambeau.load(path)
    elif way == "object":
        loaded = flambeau.load(io.BytesIO(path.read_bytes()))
    elif way == "trusted":
        loaded = flambeau.load(path, weights_only=False)
    elif ".legacy." in name:
        with pytest.raises(RuntimeError, match="mmap=True needs"):
            flambeau.load(path, mmap=True)
        return
    else:
        loaded = flambeau.load(path, mmap=True)
    found = described(loaded, flambeau)
    if name.startswith(("conj.", "neg.")):
        # Views are never lazy here: these are computed, in memory of their own.
        del found["offset"], found["storage"]
    assert found == EXPECTED["contents"][name]


@pytest.mark.parametrize("name", [name for name in EXPECTED["contents"] if ".zip." in name])
def test_memory_is_aligned(name: str) -> None:
    for way in (None, True):
        loaded = flambeau.load(FOLDER / name, mmap=way)
        values = loaded.values() if isinstance(loaded, dict) else [loaded]
        for value in values:
            if isinstance(value, flambeau.Tensor) and value.device.type == "cpu":
                assert value.untyped_storage().data_ptr() % 64 == 0


def test_sparse_tensors_are_read() -> None:
    loaded = flambeau.load(FOLDER / "sparse.zip.pt")
    assert loaded.is_sparse and loaded.to_dense().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("name", EXPECTED["refused"])
def test_what_this_library_has_not_is_refused(name: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=EXPECTED["refused"][name]):
        flambeau.load(FOLDER / name)
