"""Downloads from a server that breaks, lies and stalls."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import Site, serving

import flambeau
from flambeau.datasets import download

DATA = random.Random(1).randbytes(300_000)
MD5 = "md5:" + hashlib.md5(DATA).hexdigest()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(Site({"/file": DATA})) as running:
        yield running


def test_a_whole_file(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    assert download(f"{site.url}/file", path, MD5) == path
    assert path.read_bytes() == DATA
    assert os.listdir(path.parent) == ["file"]
    assert site.agents == {f"flambeau/{flambeau.__version__}"}
    download(f"{site.url}/file", path, "sha256:" + hashlib.sha256(DATA).hexdigest().upper())
    assert site.asked == [None]


def test_a_wrong_file_in_place_is_replaced(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"wrong")
    download(f"{site.url}/file", tmp_path / "file", MD5)
    assert (tmp_path / "file").read_bytes() == DATA
    (tmp_path / "file").write_bytes(b"anything")
    download(f"{site.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"anything"


@pytest.mark.parametrize("says_length", [True, False])
@pytest.mark.parametrize("ranges", [True, False])
def test_broken_connections_are_taken_up_again(
    site: Site, tmp_path: Path, ranges: bool, says_length: bool
) -> None:
    site.breaks_after = [100_000, 70_001]
    site.ranges, site.says_length = ranges, says_length
    if not says_length:
        # Without a length, nobody knows of the end; the checksum does.
        with pytest.raises(RuntimeError, match="gave a file whose md5 is"):
            download(f"{site.url}/file", tmp_path / "file", MD5)
        assert os.listdir(tmp_path) == []
        site.breaks_after = []
    download(f"{site.url}/file", tmp_path / "file", MD5)
    assert (tmp_path / "file").read_bytes() == DATA
    if says_length:
        assert site.asked == [None, "bytes=100000-", "bytes=170001-" if ranges else "bytes=70001-"]


def test_later_calls_go_on(site: Site, tmp_path: Path) -> None:
    site.breaks_after = [1000, 1000, 1000, 1000]
    with pytest.raises(RuntimeError, match="broke off after 4000 bytes, 4 times: the connection"):
        download(f"{site.url}/file", tmp_path / "file", MD5)
    assert not (tmp_path / "file").exists()
    assert (tmp_path / "file.part").read_bytes() == DATA[:4000]
    download(f"{site.url}/file", tmp_path / "file", MD5)
    assert site.asked[-1] == "bytes=4000-"
    assert (tmp_path / "file").read_bytes() == DATA
    assert os.listdir(tmp_path) == ["file"]


def test_without_a_checksum_nothing_of_earlier_calls_is_used(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(b"older")
    download(f"{site.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == DATA
    assert site.asked == [None]


@pytest.mark.parametrize("left", [b"older", DATA, DATA + b"more", DATA[:-1]])
def test_leftovers_of_another_version(site: Site, tmp_path: Path, left: bytes) -> None:
    (tmp_path / "file.part").write_bytes(left)
    download(f"{site.url}/file", tmp_path / "file", MD5)
    assert (tmp_path / "file").read_bytes() == DATA


def test_wrong_checksum(site: Site, tmp_path: Path) -> None:
    site.files["/file"] = b"something else"
    found = hashlib.md5(b"something else").hexdigest()
    with pytest.raises(RuntimeError, match=f"whose md5 is {found}, not {MD5[4:]}"):
        download(f"{site.url}/file", tmp_path / "file", MD5)
    assert os.listdir(tmp_path) == []
    for wrong in ("crc:1", "abc", ""):
        with pytest.raises(ValueError, match="checksum must be 'md5:...' or 'sha256:...'"):
            download(f"{site.url}/file", tmp_path / "file", wrong)


def test_answers_that_are_no_file(site: Site, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"other: .*/other answers 404 Not Found"):
        download(f"{site.url}/other", tmp_path / "other", MD5)
    assert site.asked == [None]
    site.answers = [503, 500]
    download(f"{site.url}/file", tmp_path / "file", MD5)
    site.answers = [503] * 4
    with pytest.raises(RuntimeError, match="4 times: answer 503 Service Unavailable"):
        download(f"{site.url}/file", tmp_path / "again", MD5)
    assert os.listdir(tmp_path) == ["file"]


def test_an_answer_from_another_place(site: Site, tmp_path: Path) -> None:
    site.breaks_after, site.shift = [1000], 7
    with pytest.raises(RuntimeError, match="continues at another place"):
        download(f"{site.url}/file", tmp_path / "file", MD5)
    assert os.listdir(tmp_path) == ["file.part"]


def test_mirrors(site: Site, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9/file"
    download([nowhere, f"{site.url}/none", f"{site.url}/file"], tmp_path / "file", MD5)
    assert (tmp_path / "file").read_bytes() == DATA
    with pytest.raises(RuntimeError, match=r"127.0.0.1:9/file broke off .*refused.*answers 404"):
        download([nowhere, f"{site.url}/none"], tmp_path / "other", MD5)
    with pytest.raises(RuntimeError, match="no url is given"):
        download([], tmp_path / "other", MD5)


def test_a_server_that_falls_silent(site: Site, tmp_path: Path) -> None:
    site.stalls = True
    start = time.perf_counter()
    with pytest.raises(RuntimeError, match="timed out"):
        download(f"{site.url}/file", tmp_path / "file", MD5, timeout=0.1)
    assert time.perf_counter() - start < 10


def test_one_of_several_fetches(site: Site, tmp_path: Path) -> None:
    site.files["/file"] = data = DATA * 30
    checksum = "md5:" + hashlib.md5(data).hexdigest()
    done: list[Path] = []
    threads = [
        threading.Thread(
            target=lambda: done.append(download(f"{site.url}/file", tmp_path / "file", checksum))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [tmp_path / "file"] * 4
    assert site.asked == [None]
    assert os.listdir(tmp_path) == ["file"]


def test_a_killed_download_goes_on(site: Site, tmp_path: Path) -> None:
    """The bytes that arrived are there, and no file has its name before it is whole."""
    site.files["/file"] = data = DATA * 100
    checksum = "md5:" + hashlib.md5(data).hexdigest()
    program = "import sys; from flambeau.datasets import download; download(*sys.argv[1:])"
    arguments = [f"{site.url}/file", str(tmp_path / "file"), checksum]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], env=environment)
    part = tmp_path / "file.part"
    while process.poll() is None and not (part.exists() and part.stat().st_size > 100_000):
        time.sleep(0.0005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not (tmp_path / "file").exists():
        size = part.stat().st_size
        download(*arguments)
        assert site.asked[-1] == f"bytes={size}-"
    assert hashlib.md5((tmp_path / "file").read_bytes()).hexdigest() == checksum[4:]


def test_a_bar_when_asked_for(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    download(f"{site.url}/file", tmp_path / "quiet", MD5)
    assert capsys.readouterr() == ("", "")
    download(f"{site.url}/file", tmp_path / "shown", MD5, progress=True)
    assert "shown: 100%" in capsys.readouterr().out
