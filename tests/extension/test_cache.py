"""The cache of compiled operators: shared by processes, checked before it is trusted."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from flambeau import ops
from flambeau.ops._cache import Made, cached

ENTRY = """
- op: "softclip(Tensor self) -> Tensor result"
  kind: pointwise
  dtypes: {self: float32}
  expr: "tanh(self)"
  derivative: auto
"""
PROGRAM = """
import sys, time
import flambeau
time.sleep(max(0, float(sys.argv[2]) - time.time()))
module = flambeau.ops.load(sys.argv[1])
print(module.softclip(flambeau.zeros(2)).tolist())
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for one test."""
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "operators"


class Compiler:
    """Writes a file, and counts how often."""

    def __init__(self, content: bytes = b"a library", headers: Sequence[Path] = ()) -> None:
        self.content = content
        self.headers = list(headers)
        self.runs = 0

    def __call__(self, folder: Path) -> Made:
        self.runs += 1
        (folder / "left_over.o").write_text("")
        (folder / "made.so").write_bytes(self.content)
        return Made([folder / "made.so"], self.headers)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_an_entry_is_made_once(cache: Path) -> None:
    compiler = Compiler()
    folder = cached("digest", compiler)
    assert cached("digest", compiler) == folder and folder.parent == cache / "digest"
    assert compiler.runs == 1
    assert names(folder) == {"made.so", "checksums"}
    assert names(cache / "digest") == {folder.name, "headers", "build.lock"}
    assert cached("other", compiler).parent == cache / "other"
    assert compiler.runs == 2


def test_headers_are_part_of_an_entry(cache: Path, tmp_path: Path) -> None:
    """Each state of theirs has a folder: a program may have loaded that of another one."""
    header = tmp_path / "header.h"
    header.write_text("1")
    first, second = Compiler(b"one", [header]), Compiler(b"two", [header])
    before = cached("digest", first)
    header.write_text("2")
    after = cached("digest", second)
    assert (before / "made.so").read_bytes() == b"one" and before != after
    assert cached("digest", second) == after
    header.write_text("1")
    assert cached("digest", second) == before
    header.unlink()
    cached("digest", second)
    assert (first.runs, second.runs) == (1, 2)


@pytest.mark.parametrize("damage", ["truncated", "changed", "missing", "emptied"])
def test_damaged_entries_are_made_anew(cache: Path, damage: str) -> None:
    file = cached("digest", Compiler()) / "made.so"
    if damage == "missing":
        file.unlink()
    elif damage == "emptied":
        file.unlink()
        (file.parent / "checksums").write_text("")
    else:
        file.write_bytes(b"a lib" if damage == "truncated" else b"a Library")
    compiler = Compiler()
    with pytest.warns(UserWarning, match=r"digest/\w+ is damaged and is compiled anew"):
        cached("digest", compiler)
    assert compiler.runs == 1
    assert file.read_bytes() == b"a library"
    cached("digest", compiler)
    assert compiler.runs == 1


def test_interrupted(cache: Path) -> None:
    """What a compilation that failed leaves behind is no entry."""

    def fail(folder: Path) -> Made:
        (folder / "made.so").write_bytes(b"a li")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached("digest", fail)
    assert names(cache / "digest") == {"build.lock"}
    compiler = Compiler()
    folder = cached("digest", compiler)
    (folder / "checksums").unlink()
    (folder / "made.so").write_bytes(b"a li")  # as if killed while files were moved
    assert (cached("digest", compiler) / "made.so").read_bytes() == b"a library"
    assert compiler.runs == 2


def test_files_in_use_are_not_written_to(cache: Path) -> None:
    """A program may run a library that is made anew meanwhile."""
    file = cached("digest", Compiler()) / "made.so"
    with file.open("rb") as used:
        (file.parent / "checksums").unlink()
        cached("digest", Compiler(b"another"))
        assert used.read() == b"a library"
    assert file.read_bytes() == b"another"


def test_unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "file"))
    message = r"load: .*file/operators/.* cannot be written \(Not a directory\); set FLAMBEAU_CACHE"
    with pytest.raises(OSError, match=message):
        ops.load(ENTRY)


def test_no_permission(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may be allowed everything; the system's answer is replaced."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"digest cannot be written; set FLAMBEAU_CACHE"):
        cached("digest", Compiler())


def test_processes_that_start_at_once(cache: Path, tmp_path: Path) -> None:
    """Four programs on an empty cache: one compiles, all get the module."""
    (tmp_path / "raced.yaml").write_text(ENTRY)
    compiler, log = tmp_path / "g++", tmp_path / "log"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    environment = {**os.environ, "CXX": str(compiler), "CCACHE_DISABLE": "1"}
    start = time.time() + 2
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "raced.yaml"), str(start)]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert said == ["[0.0, 0.0]\n"] * 4
    assert sum(" -shared " in f" {line} " for line in log.read_text().splitlines()) == 1
    (file,) = cache.glob("*/*/*.so")
    assert names(file.parent) == {"raced.so", "checksums"}
