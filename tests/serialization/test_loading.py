"""`load`: where storages go, mapping, kinds of files, trusted files."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn

FILES = Path(__file__).parent / "files"


def saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    flambeau.save(value, file)
    file.seek(0)
    return file


# map_location -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    ["cpu", b"cpu", flambeau.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"}, {}, None],
    ids=str,
)
def test_to_the_cpu(where: Any) -> None:
    assert flambeau.load(saved(flambeau.ones(2)), where).tolist() == [1, 1]


@pytest.mark.parametrize("where", ["meta", flambeau.device("meta"), {"cpu": "meta"}], ids=str)
def test_to_no_memory(where: Any) -> None:
    tensor = flambeau.load(saved(flambeau.ones(2, 3).t()), where)
    assert tensor.device.type == "meta" and tensor.stride() == (1, 3)


def test_a_function_of_storages() -> None:
    seen: list[Any] = []

    def double(storage: Any, place: str) -> Any:
        seen.append((storage.nbytes(), place))
        return flambeau.arange(4.0).untyped_storage() if len(seen) == 1 else None

    first, second = flambeau.load(saved([flambeau.ones(2), flambeau.zeros(3)]), double)
    assert first.tolist() == [0, 1] and second.tolist() == [0, 0, 0]
    assert seen == [(8, "cpu"), (12, "cpu")]


def test_a_device_that_is_not_there() -> None:
    data = saved(flambeau.ones(2)).getvalue()
    for other in (b"xyz", b"cud"):
        damaged = io.BytesIO(_with_location(data, other))
        with pytest.raises((pickle.UnpicklingError, RuntimeError), match="map_location"):
            flambeau.load(damaged)
        damaged.seek(0)
        assert flambeau.load(damaged, "cpu").tolist() == [1, 1]
        damaged.seek(0)
        assert flambeau.load(damaged, lambda storage, place: storage).tolist() == [1, 1]


def _with_location(data: bytes, location: bytes) -> bytes:
    """The same file of a tensor on another device."""
    import zipfile

    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(content, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"\x03\0\0\0cpu", b"\x03\0\0\0" + location))
    return content.getvalue()


def test_wrong_map_locations() -> None:
    with pytest.raises(TypeError, match="map_location must be"):
        flambeau.load(saved(1), 5)
    with pytest.raises(RuntimeError, match="unknown device"):
        flambeau.load(saved(1), "nosuch")
    with pytest.raises(pickle.UnpicklingError, match="must return a storage"):
        flambeau.load(saved(flambeau.ones(1)), lambda storage, place: 5)


# mmap ---------------------------------------------------------------------------------------------


def test_mapped_tensors_are_of_the_process(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    whole = flambeau.arange(1000.0)
    flambeau.save([whole, whole.view(10, 100).t()], path)
    before = path.read_bytes()
    first, second = flambeau.load(path, mmap=True)
    assert first.untyped_storage().data_ptr() % 64 == 0
    first.fill_(5)
    assert second.sum().item() == 5000 and path.read_bytes() == before
    flambeau.save("new", path)  # the old file lives as long as its tensors
    assert first.sum().item() == 5000
    assert "(deleted)" in _maps(path)
    first = second = None
    assert not _maps(path)


def _maps(path: Path) -> str:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return "\n".join(line for line in lines if str(path) in line)


def test_mapping_reads_nothing(tmp_path: Path) -> None:
    """A damaged storage is not noticed when it is mapped; when it is read, it is."""
    path = tmp_path / "x.pt"
    flambeau.save(flambeau.ones(1000), path)
    data = bytearray(path.read_bytes())
    data[data.index(np.ones(1000, "float32").tobytes()) + 3] = 0
    path.write_bytes(data)
    assert flambeau.load(path, mmap=True).sum().item() != 1000
    with pytest.raises(RuntimeError, match="data/0': it is damaged: its CRC-32 is"):
        flambeau.load(path)


def test_mapping_needs_a_path() -> None:
    with pytest.raises(ValueError, match="mmap=True needs the path"):
        flambeau.load(saved(1), mmap=True)


# Files --------------------------------------------------------------------------------------------


def test_file_objects_are_read_from_where_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"before" + saved(flambeau.arange(5)).getvalue())
    with open(path, "rb") as buffered, open(path, "rb", buffering=0) as raw:
        for file in (buffered, raw, io.BytesIO(path.read_bytes())):
            file.seek(6)
            assert flambeau.load(file).tolist() == [0, 1, 2, 3, 4]
            with pytest.raises(RuntimeError, match="nothing to read"):
                flambeau.load(file)
            file.seek(0)
            with pytest.raises(RuntimeError, match="is not a file written by"):
                flambeau.load(file)


def test_compressed_and_other_objects(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.gz"
    with gzip.open(path, "wb") as packed:
        flambeau.save(flambeau.arange(5), packed)  # type: ignore[arg-type]
    with gzip.open(path, "rb") as packed:
        assert flambeau.load(packed).tolist() == [0, 1, 2, 3, 4]  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="open it in binary mode"):
        flambeau.load(io.StringIO("text that is long enough"))  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="a path, or a file"):
        flambeau.load(5)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        flambeau.load(tmp_path / "nosuch")
    read, write = os.pipe()
    os.close(write)
    with os.fdopen(read, "rb") as pipe, pytest.raises(RuntimeError, match="BytesIO"):
        flambeau.load(pipe)


# Trusted files ------------------------------------------------------------------------------------


class Own:
    def __init__(self) -> None:
        self.tensor = flambeau.ones(2)


def test_trusted_files_run_what_they_name() -> None:
    found = flambeau.load(saved([Own(), nn.Linear(2, 3)]), weights_only=False)
    assert found[0].tensor.tolist() == [1, 1] and found[1].weight.shape == (3, 2)
    with pytest.raises(RuntimeError, match="pickle_module needs weights_only=False"):
        flambeau.load(saved(1), pickle_module=pickle)
    found = flambeau.load(saved(1), weights_only=False, pickle_module=pickle)
    assert found == 1


def test_names_that_would_be_refused() -> None:
    names = flambeau.serialization.get_unsafe_globals_in_checkpoint
    own = f"{__name__}.Own"
    assert names(saved([Own(), {"x": flambeau.ones(2)}, OrderedDict(a=Own())])) == [own]
    with flambeau.serialization.safe_globals([Own]):
        assert names(saved([Own()])) == []
    assert names(FILES / "refused_module.zip.pt")[0] == "torch.nn.modules.linear.Linear"
    assert names(FILES / "optimizer.legacy.pt") == []
    with pytest.raises(RuntimeError, match="is not a file"):
        names(io.BytesIO(b"no file"))


@pytest.mark.parametrize("name", ["state_dict.zip.pt", "state_dict.legacy.pt"])
def test_a_module_takes_what_pytorch_saved(name: str) -> None:
    state = flambeau.load(FILES / name)
    layer = nn.GRU(2, 3)
    layer.load_state_dict(state)
    for key, value in layer.state_dict().items():
        assert flambeau.equal(value, state[key])


def test_an_optimizer_takes_what_pytorch_saved() -> None:
    state = flambeau.load(FILES / "optimizer.zip.pt")
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    model.load_state_dict(state["model"])
    optimizer = flambeau.optim.Adam(model.parameters())
    optimizer.load_state_dict(state["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.01
    model(flambeau.ones(4, 2)).sum().backward()
    optimizer.step()


def test_loading_imports_what_it_needs() -> None:
    """Not all that the library has: the first `load` of a process would wait for it."""
    program = (
        "import sys, flambeau\n"
        f"flambeau.load({str(FILES / 'optimizer.zip.pt')!r})\n"
        "print(*(name for name in sys.modules if name.startswith('flambeau.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "flambeau.serialization.zip_format" in loaded
    for name in ("datasets", "multiprocessing", "ops", "optim", "utils.data"):
        assert f"flambeau.{name}" not in loaded
