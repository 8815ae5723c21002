"""Processes that load batches, seen from the process that iterates."""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import os
import pickle
import select
import signal
import socket
import struct
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from flambeau.multiprocessing.connection import Pipe
from flambeau.multiprocessing.parcels import unpack
from flambeau.utils.data.slots import Leases
from flambeau.utils.data.worker import End, Failure, Work, work

# Seconds that workers have to end by themselves, and then after SIGTERM.
_GRACE = 0.3


class _Worker:
    """One process, its pipe and what is borrowed of it."""

    def __init__(self, context: Any, job: Work) -> None:
        self.number = job.worker
        self.leases = Leases()
        self.connection, there = Pipe()
        self._unsent = b""
        self.process = context.Process(target=work, args=(job, there), daemon=True)
        try:
            self.process.start()
        finally:
            there.close()
        self.end = _end_of(self.process)

    def send(self, obj: Any) -> None:
        """Sends what the pipe takes, and keeps the rest: the worker may wait for this process to
        read."""
        data = pickle.dumps(obj, protocol=5)
        self._unsent += struct.pack("!i", len(data)) + data
        self.flush()

    def flush(self) -> None:
        """Sends more of what was kept."""
        try:
            sent = self.connection._socket.send(self._unsent, socket.MSG_DONTWAIT)
            self._unsent = self._unsent[sent:]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._unsent = b""  # it has ended, which `end` tells

    @property
    def events(self) -> int:
        """What to wait for on the pipe."""
        return select.POLLIN | (select.POLLOUT if self._unsent else 0)

    def receive(self) -> Any:
        """The next answer."""
        return unpack(self.connection.recv_parcel(), self.leases.loads)

    def describe_end(self) -> str:
        """How the process ended."""
        ends = select.poll()
        ends.register(self.end, select.POLLIN)
        ends.poll(1000)
        if self.process.exitcode is None:
            self.process.join(1)
        code = self.process.exitcode
        how = f"exit code {code}"
        if code is not None and code < 0:
            known = -code in set(signal.Signals)
            how = f"signal {signal.Signals(-code).name if known else -code}"
        return (
            f"DataLoader: worker {self.number} (pid {self.process.pid}) ended unexpectedly: {how}"
        )


def _end_of(process: Any) -> int:
    """A descriptor that is ready when a process has ended. Python's sentinel is when those that
    the process forked have ended, too."""
    try:
        return os.pidfd_open(process.pid)
    except OSError:  # it has ended and is gone, or the system is an old one
        return os.dup(process.sentinel)


class _Pass:
    """How far a pass over the data is."""

    def __init__(self, active: list[_Worker], order: Iterator[Any]) -> None:
        self.active = active  # who has more to give
        self.order = order
        self.sent = self.wanted = 0  # numbers of batches: the next to ask for, the next to give
        self.under_way = 0  # asked for, and not given
        self.loaded_to_drop = 0  # the first batches of an iterable dataset that was left there
        self.arrived: dict[int, tuple[_Worker, Any]] = {}
        self.free: _Worker | None = None  # where the order is free: who has just delivered

    def next_worker(self) -> _Worker:
        """Who gets the next batch."""
        free, self.free = self.free, None
        if free is not None and free in self.active:
            return free
        return self.active[self.sent % len(self.active)]

    def next_number(self, in_order: bool) -> int | None:
        """The batch to give next, if it has arrived."""
        if in_order:
            return self.wanted if self.wanted in self.arrived else None
        return next(iter(self.arrived), None)


class Workers:
    """The processes of a loader. At most `prefetch_factor` batches per worker are under way."""

    def __init__(self, loader: Any, seed: int) -> None:
        context = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        self._ahead = loader.prefetch_factor or 2
        self._timeout = loader.timeout
        self._pass = 0
        self._owner = os.getpid()
        self._workers: list[_Worker] = []
        self._poll = select.poll()
        self._by_file: dict[int, _Worker] = {}
        fetch = loader._make_fetch()
        count = loader.num_workers
        try:
            for i in range(count):
                job = Work(i, count, loader.dataset, fetch, seed, loader.worker_init_fn)
                worker = _Worker(context, job)
                self._workers.append(worker)
                for file in (worker.connection.fileno(), worker.end):
                    self._by_file[file] = worker
                    self._poll.register(file, select.POLLIN)
        except BaseException:
            self.stop(at_once=True)
            raise

    @property
    def processes(self) -> list[Any]:
        """The processes themselves."""
        return [worker.process for worker in self._workers]

    @property
    def alive(self) -> bool:
        """Whether they can take another pass."""
        return bool(self._workers) and all(p.is_alive() for p in self.processes)

    def batches(
        self, order: Iterator[Any], seed: int, in_order: bool, skip: int, iterable: bool
    ) -> Iterator[Any]:
        """The batches of a pass after the first `skip`, in the order asked for."""
        self._pass += 1
        for worker in self._workers:
            worker.send((self._pass, seed))
        state = _Pass(list(self._workers), order)
        if not iterable:
            # What is passed over need not be loaded.
            collections.deque(islice(order, skip), maxlen=0)
            state.sent = state.wanted = skip
        left = state.loaded_to_drop = skip if iterable else 0
        while True:
            self._send_tasks(state)
            if (number := state.next_number(in_order)) is None:
                if state.under_way == 0:
                    return
                for worker, arrived, answer in self._receive():
                    state.arrived[arrived] = worker, answer
                continue
            worker, answer = state.arrived.pop(number)
            state.wanted += 1
            state.under_way -= 1
            state.free = None if in_order else worker
            if isinstance(answer, Failure):
                answer.raise_again()
            if isinstance(answer, End):
                # Not on arrival: who gets which batch would depend on who is fast.
                if worker in state.active:
                    state.active.remove(worker)
                continue
            if left:
                left -= 1
                continue
            self._send_tasks(state)
            yield answer
            # Nothing here keeps the batch while the next one is waited for.
            del answer

    def _send_tasks(self, state: _Pass) -> None:
        """Gives the workers what they can take."""
        while state.active and state.under_way < self._ahead * len(state.active):
            try:
                indices = next(state.order)
            except StopIteration:
                state.order = iter(())
                return
            worker = state.next_worker()
            keep = state.sent >= state.loaded_to_drop
            worker.send((state.sent, indices, keep, *worker.leases.given_back()))
            self._watch(worker)
            state.sent += 1
            state.under_way += 1

    def _watch(self, worker: _Worker) -> None:
        self._poll.modify(worker.connection.fileno(), worker.events)

    def _receive(self) -> list[tuple[_Worker, int, Any]]:
        """Waits for answers of this pass."""
        end = time.monotonic() + self._timeout if self._timeout else None
        answers: list[tuple[_Worker, int, Any]] = []
        while not answers:
            left = None if end is None else max(0.0, end - time.monotonic()) * 1000
            ready = self._poll.poll(left)
            if not ready:
                raise RuntimeError(f"DataLoader: no batch came within {self._timeout} seconds")
            ended: _Worker | None = None
            for file, events in ready:
                worker = self._by_file[file]
                if file == worker.end:
                    ended = worker
                    continue
                if events & select.POLLOUT:
                    worker.flush()
                    self._watch(worker)
                if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                    try:
                        current, number, answer = worker.receive()
                    except (EOFError, ConnectionError) as error:
                        raise RuntimeError(worker.describe_end()) from error
                    if current == self._pass:
                        answers.append((worker, number, answer))
            if ended is not None and not answers and not ended.connection.poll():
                raise RuntimeError(ended.describe_end())
        return answers

    def stop(self, at_once: bool = False) -> None:
        """Ends the processes; without `at_once` they may do what they do when they end."""
        workers, self._workers = self._workers, []
        for worker in workers:
            os.close(worker.end)
        if os.getpid() != self._owner:
            return  # a forked child, to which they do not belong
        for worker in workers:
            # Processes that were forked later have copies of the pipe: closing it is not enough.
            with contextlib.suppress(OSError):
                worker.connection._socket.shutdown(socket.SHUT_RDWR)
            worker.connection.close()
        workers = [worker for worker in workers if worker.process.pid is not None]
        ends = ("close", "terminate", "kill")
        for end in ends[at_once:]:
            if end != "close":
                for worker in workers:
                    getattr(worker.process, end)()
            limit = time.monotonic() + _GRACE
            for worker in workers:
                worker.process.join(None if end == "kill" else max(0, limit - time.monotonic()))
            workers = [worker for worker in workers if worker.process.is_alive()]

    def __del__(self) -> None:
        if getattr(self, "_workers", None):
            self.stop()
