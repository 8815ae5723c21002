"""Worker processes of a DataLoader: memory, order, ends, resuming."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import multiprocessing_tools as tools
import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    get_worker_info,
)


class Images(Dataset[tuple[Tensor, int]]):
    """Image i is full of i, and large enough for a block of shared memory."""

    def __init__(self, count: int, size: int = 8192) -> None:
        self.count, self.size = count, size

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return flambeau.full((2, self.size), float(index)), index


class Noise(Dataset[Tensor]):
    """Samples that are drawn at random."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Tensor:
        return flambeau.cat(
            [
                flambeau.rand(2),
                flambeau.tensor([random.random(), float(index), np.random.rand()]),
            ]
        )


class Numbers(Dataset[int]):
    """A number is its index."""

    def __len__(self) -> int:
        return 60_000

    def __getitem__(self, index: int) -> int:
        return index


class Stream(IterableDataset[float]):
    def __iter__(self) -> Iterator[float]:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, 50, step):
            yield i + flambeau.rand(()).item() / 10


class Uneven(IterableDataset[float]):
    """Random numbers: 2 of the first worker, 9 of the second, one of which dawdles."""

    def __init__(self, slow: int) -> None:
        self.slow = slow

    def __iter__(self) -> Iterator[float]:
        worker = get_worker_info().id
        for _ in range((2, 9)[worker]):
            time.sleep(0.03 * (worker == self.slow))
            yield flambeau.rand(()).item()
        time.sleep(0.1 * (worker == self.slow))


class Slow(Dataset[int]):
    """Sample 0 takes a while."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        time.sleep(0.5 if index == 0 else 0.01)
        return index


class Stuck(Slow):
    def __getitem__(self, index: int) -> int:
        time.sleep(60)
        return index


class Parent(Slow):
    """Starts a process that has the pipe of the worker, and lives on."""

    def __init__(self, pids: Tensor) -> None:
        self.pids = pids

    def __getitem__(self, index: int) -> int:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        self.pids[0] = child
        os.kill(os.getpid(), signal.SIGKILL)
        return index


class Broken(Slow):
    def __getitem__(self, index: int) -> int:
        raise LookupError(f"no sample {index}")


class Unknown(Broken):
    def __getitem__(self, index: int) -> int:
        raise KeyError(f"no sample called {index}")


def is_image(batch: Any, first: int) -> bool:
    images, labels = batch
    expected = flambeau.arange(first, first + len(labels))
    return labels.equal(expected) and bool((images == expected.reshape(-1, 1, 1)).all())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_batches_that_are_kept_stay_as_they_are(method: str) -> None:
    loader = DataLoader(
        Images(64), 4, num_workers=2, multiprocessing_context=method, persistent_workers=True
    )
    kept = list(loader)
    again = [images[2:, 1] for images, _ in loader]  # views keep a block as well
    del again[::2]
    for _ in loader:
        pass
    assert all(is_image(batch, 4 * i) for i, batch in enumerate(kept))
    assert [view[0, 0].item() for view in again] == [4 * i + 2 for i in range(1, 16, 2)]


def test_blocks_are_used_again() -> None:
    loader = DataLoader(Images(400), 4, num_workers=2)
    addresses = set()
    for i, (images, labels) in enumerate(loader):
        assert is_image((images, labels), 4 * i)
        addresses.add(images.data_ptr())
    assert len(addresses) <= 10


def test_a_child_keeps_the_batches_that_it_was_forked_with() -> None:
    loader = DataLoader(Images(80), 4, num_workers=1, persistent_workers=True)
    batches = iter(loader)
    batch = next(batches)
    go, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(go, 1)
        os._exit(0 if is_image(batch, 0) else 1)
    del batch
    assert sum(1 for _ in batches) == 19
    assert sum(1 for _ in loader) == 20
    os.write(told, b"x")
    assert os.waitpid(child, 0)[1] == 0
    os.close(go)
    os.close(told)


def test_a_child_that_drops_a_loader_leaves_its_workers_alone() -> None:
    loader = DataLoader(Images(40), 4, num_workers=2)
    batches: Any = iter(loader)
    next(batches)
    child = os.fork()
    if child == 0:
        batches.close()
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert sum(1 for _ in batches) == 9


def _odd_collate(samples: list[Any]) -> Any:
    images = flambeau.stack([image for image, _ in samples])
    return {
        "same": (images, images),
        "parts": images.split(1),
        "array": images.numpy(),
        "parameter": flambeau.nn.Parameter(images[0]),
        "leaf": images[1].clone().requires_grad_(),
        "empty": flambeau.empty(0, 3),
        "meta": flambeau.empty(3, device="meta"),
        "strided": images.permute(2, 0, 1),
    }


def test_whatever_is_collated_arrives() -> None:
    for batch in DataLoader(Images(4, 30_000), 2, collate_fn=_odd_collate, num_workers=1):
        first, second = batch["same"]
        assert first is second and batch["array"].shape == first.shape
        assert len(batch["parts"]) == 2 and batch["parts"][1].equal(first[1:])
        assert type(batch["parameter"]) is flambeau.nn.Parameter
        assert batch["parameter"].equal(first[0])
        assert batch["leaf"].requires_grad and batch["leaf"].is_leaf
        assert batch["empty"].shape == (0, 3) and batch["meta"].is_meta
        assert batch["strided"].equal(first.permute(2, 0, 1))


def _recorded(samples: list[Any]) -> Any:
    return flambeau.ones(3, requires_grad=True) * 2


def test_results_of_operations_are_refused() -> None:
    with pytest.raises(RuntimeError, match="requires grad and is the result"):
        list(DataLoader(Images(4), 2, collate_fn=_recorded, num_workers=1))


def test_a_pipe_that_is_full_on_both_sides_blocks_nobody() -> None:
    loader = DataLoader(Numbers(), 60_000, collate_fn=list, num_workers=1, prefetch_factor=4)
    loader.batch_sampler = [list(range(60_000))] * 6
    assert sum(len(batch) for batch in loader) == 360_000


# Order and time -----------------------------------------------------------------------------------


def test_batches_come_as_they_are_ready() -> None:
    loader = DataLoader(Slow(), 1, num_workers=2, in_order=False)
    order = [batch.item() for batch in loader]
    assert sorted(order) == list(range(8)) and order[0] != 0 and order.index(0) > 3
    assert [b.item() for b in DataLoader(Slow(), 1, num_workers=2)] == list(range(8))


def test_who_is_fast_does_not_change_what_is_drawn() -> None:
    passes = []
    for slow in (0, 1):
        generator = flambeau.Generator().manual_seed(4)
        loader = DataLoader(Uneven(slow), 1, num_workers=2, generator=generator)
        passes.append([batch.item() for batch in loader])
    assert passes[0] == passes[1] and len(set(passes[0])) == 11


def test_time_is_limited() -> None:
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"no batch came within 0.2 seconds"):
        next(iter(DataLoader(Stuck(), 1, num_workers=1, timeout=0.2)))
    assert time.monotonic() - start < 5
    assert not multiprocessing.active_children()


def test_workers_serve_a_pass_after_one_that_was_left() -> None:
    loader = DataLoader(Images(40), 2, num_workers=2, persistent_workers=True)
    for i, batch in enumerate(loader):
        assert is_image(batch, 2 * i)
        if i == 3:
            break
    processes = loader._workers.processes
    assert all(is_image(batch, 2 * i) for i, batch in enumerate(loader))
    assert loader._workers.processes == processes
    stream = DataLoader(Stream(), 5, num_workers=2, persistent_workers=True)
    for _ in range(2):
        numbers = sorted(int(x) for batch in stream for x in batch.tolist())
        assert numbers == list(range(50))
    assert stream._workers.alive


# Ends ---------------------------------------------------------------------------------------------


def killed_until_told() -> float:
    """Seconds from a worker's end to the error."""
    loader: Any = DataLoader(Stuck(), 1, num_workers=2, persistent_workers=True)
    batches = iter(loader)
    killed: list[float] = []

    def kill() -> None:
        while loader._workers is None:
            time.sleep(0.01)
        time.sleep(0.3)
        killed.append(time.monotonic())
        os.kill(loader._workers.processes[1].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(RuntimeError, match="worker 1 .* ended unexpectedly: signal SIGKILL"):
        next(batches)
    told = time.monotonic()
    killer.join()
    assert not multiprocessing.active_children()
    return told - killed[0]


@pytest.mark.timed
def test_a_killed_worker_is_reported_at_once() -> None:
    """In a process of its own: one that has run many tests takes long to end."""
    # A busy system may take longer to end a process, or to wake one.
    code = "import test_data_workers as t; print(min(t.killed_until_told() for _ in range(5)))"
    command = [sys.executable, "-c", code]
    folder = os.path.dirname(__file__)
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert float(told) < 0.05


def test_a_killed_worker_is_reported_while_its_pipe_is_open() -> None:
    pids = flambeau.zeros(1, dtype=flambeau.int64).share_memory_()
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="worker 0 .* ended unexpectedly: signal SIGKILL"):
        next(iter(DataLoader(Parent(pids), 1, num_workers=1)))
    assert time.monotonic() - start < 5
    os.kill(int(pids.item()), signal.SIGKILL)


def _fail(worker: int) -> None:
    raise OSError(f"worker {worker} has no disk")


def test_an_exception_of_a_worker_shows_where_it_was_raised() -> None:
    with pytest.raises(LookupError, match=r"(?s)worker 0 failed.*in __getitem__.*no sample 0"):
        next(iter(DataLoader(Broken(), 1, num_workers=2)))
    with pytest.raises(KeyError) as error:  # which shows lines as lines
        next(iter(DataLoader(Unknown(), 1, num_workers=1)))
    assert "in __getitem__\n" in str(error.value)
    with pytest.raises(OSError, match=r"(?s)in _fail.*has no disk"):
        next(iter(DataLoader(Slow(), 1, num_workers=2, worker_init_fn=_fail)))
    assert not multiprocessing.active_children()


def test_passes_leave_nothing() -> None:
    for _ in DataLoader(Images(16), 4, num_workers=2):
        pass
    gc.collect()
    before = tools.descriptors(), tools.shared_bytes()
    for i in range(10):
        for j, _ in enumerate(DataLoader(Images(16), 4, num_workers=2)):
            if i % 2 and j == 1:
                break
    gc.collect()
    assert tools.settled(tools.descriptors, before[0]) <= before[0]
    assert tools.shared_bytes() <= before[1]
    assert not multiprocessing.active_children()


PROGRAM = """
import os, sys, time
import flambeau
from flambeau.utils.data import DataLoader
from test_data_workers import Images, Stuck
batches = iter(DataLoader({dataset}, 1, num_workers=2))
next(batches) if {some} else None
print(*(p.pid for p in __import__("multiprocessing").active_children()), flush=True)
next(batches)
time.sleep(60)
"""


@pytest.mark.timed
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_process_that_iterates(number: signal.Signals) -> None:
    folder = os.path.dirname(__file__)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(dataset="Images(100)", some=True)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(folder)])},
    )
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) == 2
    time.sleep(0.2)
    start = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=10)
    assert tools.settled(lambda: [pid for pid in workers if alive(pid)], [], 2) == []
    assert time.monotonic() - start < 1


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# Going on -----------------------------------------------------------------------------------------


def loader_of(kind: str, workers: int) -> Any:
    dataset = Stream() if kind == "iterable" else Noise()
    options: dict[str, Any] = {"num_workers": workers}
    if kind != "iterable":
        options["shuffle"] = True
    if kind == "generator":
        options["generator"] = flambeau.Generator().manual_seed(3)
    return DataLoader(dataset, 3, **options)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["shuffled", "generator", "iterable"])
@pytest.mark.parametrize("given", [0, 1, 5])
def test_a_pass_goes_on_where_it_was(kind: str, workers: int, given: int) -> None:
    flambeau.manual_seed(11)
    loader = loader_of(kind, workers)
    list(loader)
    batches = iter(loader)
    before = [next(batches) for _ in range(given)]
    state, generator = loader.state_dict(), flambeau.get_rng_state()
    python, numpy = random.getstate(), np.random.get_state()
    expected = [batch.tolist() for batch in batches]
    after = [batch.tolist() for batch in loader]
    assert loader.state_dict()["batches"] is None
    assert len(before) + len(expected) >= 8

    other = loader_of(kind, workers)
    flambeau.manual_seed(99)
    other.load_state_dict(flambeau_round_trip(state))
    assert other.state_dict()["batches"] == given
    if given and (kind != "iterable" or workers):
        flambeau.set_rng_state(generator)
        random.setstate(python)
        np.random.set_state(numpy)
    resumed = [batch.tolist() for batch in other]
    if given and (kind != "iterable" or workers):
        assert resumed == expected
        assert [batch.tolist() for batch in other] == after
    else:
        assert len(resumed) == len(expected)


def flambeau_round_trip(state: Any) -> Any:
    """A state that was saved and loaded."""
    import io

    file = io.BytesIO()
    flambeau.save(state, file)
    file.seek(0)
    return flambeau.load(file)


def test_what_workers_draw_does_not_depend_on_their_number() -> None:
    def drawn(workers: int) -> Any:
        flambeau.manual_seed(5)
        return [b.tolist() for b in DataLoader(Noise(), 3, num_workers=workers)]

    assert drawn(1) == drawn(3)
    assert len({tuple(row) for batch in drawn(2) for row in batch}) == 24
