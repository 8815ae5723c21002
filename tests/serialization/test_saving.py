"""What `save` writes, and that it replaces files whole or not at all."""

from __future__ import annotations

import errno
import io
import itertools
import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn


def saved(value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    flambeau.save(value, file, **options)
    return file.getvalue()


def round_trip(value: Any, **options: Any) -> Any:
    return flambeau.load(io.BytesIO(saved(value)), **options)


# The format -------------------------------------------------------------------------------------


def test_entries_are_those_of_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "model.v2.pt"
    flambeau.save({"a": flambeau.arange(3), "b": flambeau.ones(100)}, path)
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        entries = {entry.filename: entry for entry in archive.infolist()}
        assert archive.read("model.v2/version") == b"3\n"
        assert archive.read("model.v2/byteorder") == b"little"
        assert archive.read("model.v2/.format_version") == b"1"
        assert archive.read("model.v2/.storage_alignment") == b"64"
        assert len(archive.read("model.v2/.data/serialization_id")) == 40
        assert archive.read("model.v2/data/1") == np.ones(100, "float32").tobytes()
    assert "model.v2/data.pkl" in entries
    for entry in entries.values():
        assert entry.compress_type == zipfile.ZIP_STORED
        name, extra = (
            int.from_bytes(content[entry.header_offset + at :][:2], "little") for at in (26, 28)
        )
        assert (entry.header_offset + 30 + name + extra) % 64 == 0


def test_names_are_those_of_pytorch() -> None:
    model = nn.Linear(2, 2)
    value = [model.weight, model.state_dict(), nn.Buffer(flambeau.ones(1)), flambeau.Size([1])]
    value += [flambeau.float16, flambeau.device("cpu"), flambeau.ones(1, dtype=flambeau.uint16)]
    value += [flambeau.ones(2, device="meta")]
    with zipfile.ZipFile(io.BytesIO(saved(value))) as archive:
        content = archive.read("archive/data.pkl")
    assert b"flambeau" not in content
    for name in (b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nFloatStorage\n"):
        assert name in content


def test_texts_that_look_like_names() -> None:
    """The pickler of Python, in C, writes names of this library, which are then those of files."""
    tensor = flambeau.arange(3)
    with zipfile.ZipFile(io.BytesIO(saved([tensor, flambeau.int64]))) as archive:
        assert b"flambeau" not in archive.read("archive/data.pkl")
    ours = "flambeau.serialization.pickled_names\ntorch__utils__rebuild_tensor_v2\n"
    for text in (ours, f"c{ours}", "cflambeau\nint64\n", f"xc{ours}c{ours}", "cflambeau\nSize\n"):
        value = [tensor, flambeau.int64, text, text.encode()]
        found = round_trip(value)
        assert found[0].tolist() == [0, 1, 2] and found[1:] == value[1:]
        with zipfile.ZipFile(io.BytesIO(saved(value))) as archive:
            content = archive.read("archive/data.pkl")
        assert b"ctorch._utils\n_rebuild_tensor_v2\n" in content
        assert content.count(b"pickled_names") == 2 * text.count("pickled_names")


def test_both_picklers_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {
        "state": nn.GRU(2, 3).state_dict(),
        "rest": [flambeau.Size([1]), flambeau.device("cpu"), flambeau.bfloat16, {1, 2}, b"x", 1.5],
        "kinds": [nn.Parameter(flambeau.ones(1)), nn.Buffer(flambeau.ones(1)), Own],
    }
    fast = saved(value)
    monkeypatch.setattr("flambeau.serialization.pickler._FIRST_WITH_FRAMES", 0)
    assert saved(value) == fast


def test_the_same_object_gives_the_same_bytes() -> None:
    value = {"x": flambeau.arange(10), "y": [nn.Parameter(flambeau.ones(2))]}
    assert saved(value) == saved(value)


def test_tensors_of_two_dtypes_on_one_storage() -> None:
    """Which PyTorch refuses to save."""
    whole = flambeau.tensor([1 + 2j, 3 - 4j])
    value = {"whole": whole, "real": flambeau.real(whole), "other": flambeau.ones(1)}
    found = round_trip(value)
    assert found["real"].tolist() == [1, 3] and found["real"].stride() == (2,)
    found["real"].fill_(7)
    assert found["whole"].tolist() == [7 + 2j, 7 - 4j]


def test_objects_with_tensors_inside() -> None:
    buffer = round_trip(nn.Buffer(flambeau.ones(2), persistent=False))
    assert isinstance(buffer, nn.Buffer) and not buffer.persistent
    tensor = flambeau.ones(2)
    tensor.note = "kept"  # type: ignore[attr-defined]
    assert round_trip([tensor])[0].note == "kept"
    parameter = nn.Parameter(flambeau.ones(2))
    parameter.note = [1]  # type: ignore[attr-defined]
    found = round_trip(parameter)
    assert isinstance(found, nn.Parameter) and found.note == [1]
    assert round_trip(flambeau.ones(2, 3, device="meta")).device.type == "meta"
    storage = round_trip([tensor, tensor.untyped_storage()])
    assert storage[0].data_ptr() == storage[1].data_ptr()
    whole = round_trip(nn.Linear(2, 3), weights_only=False)
    assert isinstance(whole, nn.Linear) and whole.weight.shape == (3, 2)


class Own:
    pass


class Kind(flambeau.Tensor):
    pass


class Weight(nn.Parameter):
    pass


class Reduced(flambeau.Tensor):
    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, ([1, 2],)


def test_subclasses() -> None:
    tensor: Any = flambeau.Tensor._make_subclass(Kind, flambeau.ones(2), True)
    tensor.note = 5
    with pytest.raises(pickle.UnpicklingError, match="Kind, which weights_only"):
        round_trip(tensor)
    with flambeau.serialization.safe_globals([Kind, Weight]):
        found, weight = round_trip([tensor, Weight(flambeau.ones(3))])
    assert type(found) is Kind and found.note == 5 and found.requires_grad
    assert type(weight) is Weight and weight.requires_grad and weight.tolist() == [1, 1, 1]
    reduced = flambeau.Tensor._make_subclass(Reduced, flambeau.ones(2), False)
    assert round_trip([reduced], weights_only=False) == [[1, 2]]


@pytest.mark.parametrize("protocol", range(1, 6))
def test_protocols(protocol: int) -> None:
    value = {"x": flambeau.arange(3), "s": flambeau.Size([2]), "t": ("a", 1 << 70, b"x", 1.5)}
    found = flambeau.load(io.BytesIO(saved(value, pickle_protocol=protocol)))
    assert found.pop("x").tolist() == [0, 1, 2] and value.pop("x") is not None
    assert found == value
    for other in (0, 6):
        with pytest.raises(ValueError, match="from 1 to 5, got"):
            saved(value, pickle_protocol=other)


def test_options_that_programs_give() -> None:
    with pytest.warns(UserWarning, match="before PyTorch 1.6 is not written"):
        old = saved(flambeau.ones(2), _use_new_zipfile_serialization=False)
    assert flambeau.load(io.BytesIO(old)).tolist() == [1.0, 1.0]
    with zipfile.ZipFile(io.BytesIO(old)) as archive:
        assert "archive/byteorder" in archive.namelist()
    silent = saved(flambeau.ones(2), _disable_byteorder_record=True)
    assert flambeau.load(io.BytesIO(silent)).tolist() == [1.0, 1.0]
    with zipfile.ZipFile(io.BytesIO(silent)) as archive:
        assert "archive/byteorder" not in archive.namelist()


def test_what_is_given() -> None:
    with pytest.raises(AttributeError, match="a path or a file, got int"):
        flambeau.save(1, 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pickle_module"):
        saved(1, pickle_module=io)
    assert round_trip(1) == 1 and saved(1, pickle_module=pickle)
    with pytest.raises(RuntimeError, match="device meta has no content"):
        saved(flambeau.ones(2, device="meta").untyped_storage())


# Files ------------------------------------------------------------------------------------------


def test_what_cannot_be_pickled_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    flambeau.save("old", path)
    with pytest.raises(Exception, match="pickle"):
        flambeau.save(threading.Lock(), path)
    assert flambeau.load(path) == "old" and os.listdir(tmp_path) == ["x.pt"]


def test_links_are_followed_and_permissions_kept(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path, link = tmp_path / "folder" / "x.pt", tmp_path / "link.pt"
    link.symlink_to(path)
    flambeau.save(1, link)
    assert flambeau.load(path) == 1 and link.is_symlink()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    flambeau.save(2, link)
    assert flambeau.load(link) == 2 and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["x.pt"]


def test_no_name_but_a_device() -> None:
    flambeau.save(flambeau.ones(1000), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match="No space left") as caught:
        flambeau.save(flambeau.ones(1000), "/dev/full")
    assert caught.value.errno == errno.ENOSPC


def test_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content: list[bytes] = []
    reader = threading.Thread(target=lambda: content.append(path.read_bytes()))
    reader.start()
    flambeau.save(flambeau.arange(100_000), path)
    reader.join()
    assert flambeau.load(io.BytesIO(content[0])).shape == (100_000,)


def test_a_folder_or_none(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        flambeau.save(1, tmp_path)
    with pytest.raises(FileNotFoundError):
        flambeau.save(1, tmp_path / "none" / "x.pt")


# As another user than root, who may write anything.
_UNWRITABLE = """
import os, sys
import flambeau
flambeau.save(0, "/dev/null"), flambeau.load("x.pt")  # what is imported then, nobody may read
os.setgroups([]), os.setgid(65534), os.setuid(65534)
for path, said in (("readonly/x.pt", "file is written beside"), ("x.pt", "Permission denied")):
    try:
        flambeau.save(2, path)
    except PermissionError as error:
        assert said in str(error), error
    else:
        sys.exit(f"{path} was written")
with open("readonly/x.pt", "wb") as file:
    flambeau.save(3, file)
assert flambeau.load("readonly/x.pt") == 3 and flambeau.load("x.pt") == 1
"""


def test_folders_and_files_that_take_nothing(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    folder = tmp_path / "readonly"
    folder.mkdir()
    for path, mode in ((folder / "x.pt", 0o666), (tmp_path / "x.pt", 0o444)):
        flambeau.save(1, path)
        path.chmod(mode)
    folder.chmod(0o555)
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_mode & 0o5 != 0o5 and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o5)
    done = subprocess.run(
        [sys.executable, "-c", _UNWRITABLE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(folder)) == ["x.pt"]


_TOO_LARGE = """
import resource, signal, sys
import flambeau
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    flambeau.save(flambeau.ones(1 << 20), sys.argv[1])
except OSError as error:
    assert "too large" in str(error).lower(), error
else:
    sys.exit("it was written")
"""


def test_no_room(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    flambeau.save("old", path)
    done = subprocess.run(
        [sys.executable, "-c", _TOO_LARGE, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert flambeau.load(path) == "old" and os.listdir(tmp_path) == ["x.pt"]


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """A hundred times: the file is the old one or the new one; a third hardly ever lies beside."""
    path = tmp_path / "x.pt"
    random = np.random.default_rng(0)
    numbers = {0}
    for _ in range(100):
        started = time.monotonic()
        _save_number(tmp_path / "other.pt", 0)  # how long one takes now
        duration = time.monotonic() - started
        process = _forked(path, 1 + max(numbers))
        time.sleep(random.uniform(0, 5 * duration))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        if path.exists():
            found = flambeau.load(path)
            numbers.add(found["number"])
            for tensor in found["value"]:
                assert (tensor == found["number"]).all().item()
    assert len(numbers) > 20
    # Only between naming the new file and renaming it can a process leave something.
    assert len(os.listdir(tmp_path)) <= 2 + 10


def _forked(path: Path, first: int) -> int:
    process = os.fork()
    if process == 0:
        try:
            for number in itertools.count(first):
                _save_number(path, number)
        finally:
            os._exit(1)
    return process


def _save_number(path: Path, number: int) -> None:
    value = [flambeau.full((1 << 18,), float(number)) for _ in range(4)]
    flambeau.save({"number": number, "value": value}, path)


class Trickle(io.RawIOBase):
    """A file that takes a few bytes at a time."""

    def __init__(self) -> None:
        self.content = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data[:1000])
        self.content += part
        return len(part)


def test_files_that_take_a_few_bytes_at_a_time() -> None:
    file = Trickle()
    flambeau.save(flambeau.arange(10_000), file)  # type: ignore[arg-type]
    assert flambeau.load(io.BytesIO(bytes(file.content))).sum().item() == 49_995_000


def test_names_that_are_not_ascii(tmp_path: Path) -> None:
    # The last is the folder of the entries of format 1.
    for name in ("\u00e9t\u00e9.pt", ".hidden", "no suffix", "x" * 250, "flambeau.pt"):
        flambeau.save([name], tmp_path / name)
        assert flambeau.load(tmp_path / name) == [name]
        assert zipfile.is_zipfile(tmp_path / name)
    flambeau.save(1, os.fsencode(tmp_path / "bytes.pt").decode())
