"""Processes that load batches: what runs in them.

A worker has one pipe to the process that iterates. It receives (pass, seed) when a pass begins, or
(number, indices, keep, blocks given back, blocks retired) for each batch, and answers
(pass, number, batch).
"""

from __future__ import annotations

import contextlib
import random
import select
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flambeau


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker process this is.

    Attributes:
        id: its number.
        num_workers: how many there are.
        seed: of its generators.
        dataset: its copy.

    Example:
        >>> class Numbers(flambeau.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         worker = flambeau.utils.data.get_worker_info()
        ...         first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        ...         return iter(range(first, 6, step))
        >>> sorted(int(x) for x in flambeau.utils.data.DataLoader(Numbers(), num_workers=2))
        [0, 1, 2, 3, 4, 5]
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process, what it is (see WorkerInfo); elsewhere None.

    Example:
        >>> print(flambeau.utils.data.get_worker_info())
        None
    """
    return _info


class _Lines(str):
    """A message that a KeyError, which shows what it was given as Python would write it, shows as
    it is.
    """

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """An exception of a worker, with its traceback as text."""

    def __init__(self, worker: int, error: BaseException) -> None:
        self.worker = worker
        self.kind = type(error)
        self.text = traceback.format_exc()

    def raise_again(self) -> None:
        """Raises the exception here; its message holds the worker's traceback."""
        message = f"DataLoader worker {self.worker} failed:\n{self.text}"
        try:
            error = self.kind(_Lines(message) if issubclass(self.kind, KeyError) else message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class End:
    """What a worker sends when an iterable dataset has no more samples."""


@dataclass(frozen=True)
class Work:
    """What a worker is for."""

    worker: int
    count: int
    dataset: Any
    make_fetch: Callable[[Any], Callable[[Any], Any]]
    seed: int
    init: Callable[[int], Any] | None


def _ended(_: Any) -> Any:
    """Fetches from an iterable dataset without more samples."""
    raise StopIteration


def seed_all(seed: int) -> None:
    """Seeds the generators of the library, of Python, and NumPy's if it is in use."""
    flambeau.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def work(job: Work, connection: Any) -> None:
    """The life of a worker: batches until the pipe is closed, or the process at its other end has
    ended."""
    global _info
    # The process that iterates learns of Ctrl-C, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    flambeau.set_num_threads(1)
    seed_all(job.seed + job.worker)
    _info = WorkerInfo(job.worker, job.count, job.seed + job.worker, job.dataset)
    failure: Failure | None = None
    try:
        if job.init is not None:
            job.init(job.worker)
    except Exception as error:
        failure = Failure(job.worker, error)
    # Unless nobody waits for batches any more.
    with contextlib.suppress(EOFError, ConnectionError):
        _Loop(job, connection, failure).run()


class _Loop:
    """Receives tasks and answers them."""

    def __init__(self, job: Work, connection: Any, failure: Failure | None) -> None:
        from multiprocessing import parent_process

        from flambeau.utils.data import collate
        from flambeau.utils.data.slots import Blocks

        self._job = job
        self._connection = connection
        self._failure = failure
        self._blocks = Blocks()
        collate.allocate = self._blocks.empty
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        parent: Any = parent_process()
        self._parent = parent.sentinel
        self._poll.register(self._parent, select.POLLIN)

    def run(self) -> None:
        current = seed = 0
        fetch: Callable[[Any], Any] | None = None
        while True:
            if any(ready == self._parent for ready, _ in self._poll.poll()):
                return
            task = self._connection.recv()
            if len(task) == 2:
                current, seed = task
                fetch = None
                continue
            number, indices, keep, returned, retired = task
            self._blocks.give_back(returned, retired)
            answer: Any = self._failure
            if answer is None:
                try:
                    if self._job.init is None:
                        seed_all(seed + number)
                    if fetch is None:
                        fetch = self._job.make_fetch(self._job.dataset)
                    answer = fetch(indices)
                    if not keep:
                        answer = None
                except StopIteration:
                    answer, fetch = End(), _ended
                except Exception as error:
                    answer = Failure(self._job.worker, error)
            self._answer(current, number, answer)
            del answer

    def _answer(self, current: int, number: int, answer: Any) -> None:
        from flambeau.multiprocessing.parcels import pack

        try:
            parcel = pack((current, number, answer), self._blocks.dumps)
        except Exception as error:
            failure = Failure(self._job.worker, error)
            parcel = pack((current, number, failure), self._blocks.dumps)
        self._connection.send_parcel(parcel)
