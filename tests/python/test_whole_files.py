"""Files that are there completely or not at all, also when their writer is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from flambeau._whole_files import replacing, write_whole

WRITER = """
import sys
from pathlib import Path
from flambeau._whole_files import write_whole
path, n = Path(sys.argv[1]), 0
while True:
    n += 1
    write_whole(path, str(n % 10).encode() * 3_000_000)
"""


def test_killed_while_writing(tmp_path: Path) -> None:
    """20 x SIGKILL: the file always has one of the contents that were written."""
    path = tmp_path / "it.bin"
    moments = random.Random(1)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(20):
        path.unlink(missing_ok=True)
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], env=environment)
        while not path.exists():
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(moments.random() * 0.03)
        process.send_signal(signal.SIGKILL)
        process.wait()
        content = path.read_bytes()
        assert len(content) == 3_000_000
        assert content == content[:1] * len(content)
    # Only between naming the new file and renaming it can a process leave something.
    assert len(os.listdir(tmp_path)) <= 1 + 5


def test_on_the_disk_before_it_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a power cut leaves is what is on the disk: the content, then the name."""
    path = tmp_path / "it.txt"
    write_whole(path, b"first")
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def syncing(descriptor: int) -> None:
        is_folder = os.path.isdir(f"/proc/self/fd/{descriptor}")
        steps.append("folder" if is_folder else os.pread(descriptor, 10, 0).decode())
        sync(descriptor)

    def replacing_too(*given: Any, **options: Any) -> None:
        steps.append("name")
        replace(*given, **options)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing_too)
    write_whole(path, b"second")
    assert steps == ["second", "name", "folder"]
    assert path.read_bytes() == b"second"


def fail_halfway(path: Path) -> None:
    with replacing(path) as descriptor:
        os.write(descriptor, b"half")
        raise BlockingIOError


def test_a_write_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "it.txt"
    write_whole(path, b"first")
    with pytest.raises(BlockingIOError):
        fail_halfway(path)
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["it.txt"]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "no" / "it.txt", b"x")
