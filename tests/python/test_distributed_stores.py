"""Stores: one set of properties, of every kind."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import flambeau.distributed as dist

Make = Callable[[], dist.Store]
SHORT = timedelta(seconds=0.05)


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Gives one more store on the same keys at each call."""
    if request.param == "file":
        return lambda: dist.FileStore(tmp_path / "store")
    first: dist.Store = dist.HashStore()
    if request.param == "tcp":
        first = dist.TCPStore("localhost", 0, is_master=True)
    if request.param == "prefix":
        inner = dist.TCPStore("localhost", 0, is_master=True)
        return lambda: dist.PrefixStore("a", dist.PrefixStore("b", inner.clone()))
    return first.clone


def test_values(make: Make) -> None:
    one, two = make(), make()
    one.set("text", "a")
    one.set("bytes", b"\0\xff\n")
    assert two.get("text") == b"a" and two.get("bytes") == b"\0\xff\n"
    two.set("text", "b")
    assert one.get("text") == b"b"
    assert one.add("count", 3) == 3 and two.add("count", -5) == -2
    assert one.get("count") == b"-2"
    with pytest.raises(ValueError, match=r"expected a number under '(b/a/|a/|b/)*text', got b'b'"):
        one.add("text", 1)
    assert two.check(["text", "count"]) and not two.check(["text", "none"])
    assert one.delete_key("text") and not two.delete_key("text")
    one.append("long", "x")
    two.append("long", "y")
    assert one.get("long") == b"xy"
    one.multi_set(["m", "n"], ["1", b"2"])
    assert two.multi_get(["n", "m"]) == [b"2", b"1"]
    with pytest.raises(TypeError, match="value must be str or bytes, got int"):
        one.set("a", 3)  # type: ignore[arg-type]


def test_compare_set(make: Make) -> None:
    one, two = make(), make()
    assert one.compare_set("key", "other", "new") == b"other"  # there is no key
    assert one.compare_set("key", "", "first") == b"first"
    assert two.compare_set("key", "other", "new") == b"first"
    assert two.compare_set("key", "first", "second") == b"second"
    assert one.get("key") == b"second"


def test_waiting(make: Make) -> None:
    one, two = make(), make()
    with pytest.raises(dist.DistStoreError, match="wait timeout after 50ms, keys: .*late"):
        one.wait(["late"], SHORT)
    timer = threading.Timer(0.1, lambda: two.set("late", "now"))
    timer.start()
    one.wait(["late"], timedelta(seconds=20))
    assert one.get("late") == b"now"
    timer.join()
    one.set_timeout(SHORT)
    assert one.timeout == SHORT
    with pytest.raises(dist.DistStoreError, match="wait timeout"):
        one.get("never")
    with pytest.raises(TypeError, match="timedelta"):
        one.set_timeout(3)  # type: ignore[arg-type]


def test_queues(make: Make) -> None:
    one, two = make(), make()
    one.queue_push("q", "1")
    one.queue_push("q", "2")
    assert two.queue_len("q") == 2
    assert two.queue_pop("q") == b"1" and one.queue_pop("q") == b"2"
    with pytest.raises(dist.QueueEmptyError, match="empty"):
        two.queue_pop("q", block=False)
    one.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError, match="wait timeout"):
        one.queue_pop("q")


def test_counting_from_many_threads(make: Make) -> None:
    def count() -> None:
        store = make()
        for _ in range(20):
            store.add("n", 1)
        store.barrier("all", 4, timedelta(seconds=20))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert make().add("n", 0) == 80


def test_prefixes_are_apart() -> None:
    base = dist.HashStore()
    left, right = dist.PrefixStore("left", base), dist.PrefixStore("right", base)
    left.set("key", "1")
    right.set("key", "2")
    assert left.get("key") == b"1" and base.list_keys() == ["left/key", "right/key"]
    assert left.underlying_store is base and base.num_keys() == 2
    left.multi_set(["a", "b"], ["x", "y"])
    assert base.get("left/b") == b"y"


def test_a_wait_keeps_no_other_thread_from_its_store() -> None:
    store = dist.TCPStore("localhost", 0, is_master=True)
    waiting = threading.Thread(target=store.wait, args=(["key"], timedelta(seconds=20)))
    waiting.start()
    store.set("key", "1")
    waiting.join(20)
    assert not waiting.is_alive()


def test_strangers_do_no_harm() -> None:
    store = dist.TCPStore("localhost", 0, is_master=True)
    for said in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0\0\0\4\0\0\0\0", b""):
        with socket.create_connection(("localhost", store.port)) as stranger:
            stranger.sendall(said)
            stranger.settimeout(10)
            try:
                stranger.shutdown(socket.SHUT_WR)
                assert stranger.recv(1) == b""  # no answer, and the end
            except OSError as error:
                # Reset where what it said was not read to its end; maybe before it was silent.
                assert error.errno in (errno.ECONNRESET, errno.ENOTCONN)
    store.set("key", "1")
    assert store.get("key") == b"1"


def test_addresses_without_a_store() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(dist.DistNetworkError, match=f"{port}.*nobody answered within 0.1 s"):
        dist.TCPStore("127.0.0.1", port, timeout=timedelta(seconds=0.1))
    keeper = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match=f"listening on .*{keeper.port}"):
        dist.TCPStore("127.0.0.1", keeper.port, is_master=True)
    with pytest.raises(dist.DistStoreError, match="1 of 2 processes came"):
        dist.TCPStore("127.0.0.1", 0, 2, True, timedelta(seconds=0.1))


def test_a_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("hello, this is no store")
    with pytest.raises(RuntimeError, match="the file is none of a store"):
        dist.FileStore(path).get("key")
