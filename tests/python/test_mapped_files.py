"""Tensors of a file's elements: private and shared, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import flambeau


def test_a_private_tensor_leaves_its_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(5, dtype=np.float32).tofile(path)
    x = flambeau.from_file(str(path), size=4)
    x += 1
    assert x.tolist() == [1, 2, 3, 4]
    assert np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3, 4]


def test_writes_to_a_shared_tensor_go_to_its_file(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    x = flambeau.from_file(path, shared=True, size=3, dtype=flambeau.int64)
    assert x.tolist() == [0, 0, 0]
    x[1] = 7
    assert np.fromfile(path, np.int64).tolist() == [0, 7, 0]


def test_a_shorter_file_is_made_longer_and_keeps_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(1, 3, dtype=np.int32).tofile(path)
    x = flambeau.from_file(path, shared=True, size=4, dtype=flambeau.int32)
    assert x.tolist() == [1, 2, 0, 0]
    longer = flambeau.from_file(path, shared=True, size=1, dtype=flambeau.int32)
    assert longer.tolist() == [1] and path.stat().st_size == 16


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"size": 9}, RuntimeError, "has 8 bytes, fewer than 36"),
        ({"size": -1}, ValueError, "size must not be negative, got -1"),
        ({"size": 1, "device": "meta"}, RuntimeError, "mapped to the CPU, not to meta"),
        ({"size": 1, "pin_memory": True}, RuntimeError, "cannot be pinned"),
    ],
)
def test_what_cannot_be_mapped_is_refused(
    tmp_path: Path, arguments: dict[str, object], error: type[Exception], text: str
) -> None:
    path = tmp_path / "numbers"
    np.zeros(2, np.float32).tofile(path)
    with pytest.raises(error, match=text):
        flambeau.from_file(path, **arguments)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        flambeau.from_file(tmp_path / "none", size=1)
