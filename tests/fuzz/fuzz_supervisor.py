"""The parent: starts workers, watches them, says which program ended or held one."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from fuzz_calls import Program
from fuzz_judge import judge_death
from fuzz_worker import HANG, SANITIZED, Channel, Finding, run_batch


@dataclass(slots=True)
class Tally:
    """What a run came to."""

    calls: int = 0
    worked: int = 0
    findings: list[Finding] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.kinds[finding.kind] += 1


class Named(Protocol):
    """A program, or what else a worker runs."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Task:
    """What workers do. `make`: the program of a number; `body`: runs some of them in a child; what
    it finds, it writes.
    """

    make: Callable[[int], Named]
    body: Callable[[Channel, Callable[[Finding], None], Iterable[tuple[int, Any]]], None]
    memory: int = 1 << 30  # bytes that a worker may take beyond what it starts with


def fuzzing(make: Callable[[int], Program], growth: bool = True) -> Task:
    """Runs programs of Flambeau alone."""
    return Task(make, partial(run_batch, growth=growth))


class Worker:
    """A child process that runs a batch of programs."""

    def __init__(self, numbers: range | list[int], task: Task) -> None:
        self.numbers = list(numbers)
        self._task = task
        self.channel = Channel()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._found = tempfile.TemporaryFile()  # noqa: SIM115
        self._pid = 0
        self._start()

    def _start(self) -> None:
        self._pid = os.fork()
        if self._pid:
            return
        try:
            faulthandler.disable()  # pytest enables it: its words belong to the parent
            faulthandler.register(signal.SIGUSR1, self._said)
            os.setpgid(0, 0)
            limit_memory(self._task.memory)
            for stream in (1, 2):
                os.dup2(self._said.fileno(), stream)
            empty = os.open(os.devnull, os.O_RDONLY)
            os.dup2(empty, 0)
            programs = ((number, self._task.make(number)) for number in self.numbers)
            self._task.body(self.channel, self._write, programs)
        except BaseException as error:
            os.write(2, f"the worker itself: {type(error).__name__}: {error}\n".encode())
            os._exit(70)
        os._exit(0)

    def poll(self) -> str | None:
        """How it ended: "" if well, "HANG" where it took too long and was killed; None: not yet."""
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid == 0:
            _, since, _, _ = self.channel.read()
            if time.monotonic() - since < HANG:
                return None
            self._interrupt()
            return "HANG"
        if os.WIFSIGNALED(status):
            return signal.Signals(os.WTERMSIG(status)).name
        return f"exit {os.WEXITSTATUS(status)}" if os.WEXITSTATUS(status) else ""

    def _interrupt(self) -> None:
        """Ends it, after it has said where it is."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGUSR1)
            time.sleep(0.2)
        self.end()

    def _write(self, finding: Finding) -> None:
        os.write(self._found.fileno(), (finding.dump() + "\n").encode())

    def end(self) -> None:
        """Kills it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def findings(self) -> Iterator[Finding]:
        """What it wrote down."""
        self._found.seek(0)
        for line in self._found.read().decode().splitlines():
            yield Finding.load(line)

    def said(self) -> str:
        """What it printed, the end of it."""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - 40_000))
        return self._said.read().decode(errors="replace")

    def close(self) -> None:
        self._said.close()
        self._found.close()


def limit_memory(more: int) -> None:
    """What the sanitizer's runtime maps cannot be limited: it has an option of its own."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if SANITIZED:
        return
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))


def run(
    task: Task,
    numbers: Iterable[int],
    jobs: int,
    batch: int,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Runs all programs; a batch that ends early goes on behind the program that ended it."""
    tally = Tally()
    waiting = _batches(numbers, batch)
    rest: list[list[int]] = []
    workers: list[Worker] = []
    try:
        while True:
            while len(workers) < jobs and not stop():
                numbered = rest.pop() if rest else next(waiting, None)
                if numbered is None:
                    break
                workers.append(Worker(numbered, task))
            if not workers:
                return tally
            for worker in list(workers):
                ended = worker.poll()
                if ended is None:
                    continue
                workers.remove(worker)
                left = _close(worker, ended, tally, task)
                if left:
                    rest.append(left)
                progress(tally)
            time.sleep(0.002)
    finally:
        for worker in workers:
            worker.end()


def _batches(numbers: Iterable[int], size: int) -> Iterator[list[int]]:
    part: list[int] = []
    for number in numbers:
        part.append(number)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def _close(worker: Worker, ended: str, tally: Tally, task: Task) -> list[int]:
    """Counts what a worker did; the numbers that it did not come to."""
    number, _, statements, worked = worker.channel.read()
    for finding in worker.findings():
        if finding.kind != "growth" or _grows_again(task, worker.numbers, finding):
            tally.add(finding)
    tally.worked += worked
    left: list[int] = []
    if ended and number not in worker.numbers:
        # A machine that stood still; everything else is a mistake of the fuzzer.
        if ended != "HANG":
            raise RuntimeError(f"a worker ended ({ended}) before it began: {worker.said()}")
        left = worker.numbers
    elif ended:
        left = worker.numbers[worker.numbers.index(number) + 1 :]
        found = death(ended, worker.said())
        if ended != "HANG" or _hangs(task, number):
            name = task.make(number).name
            tally.add(Finding(*found, name, number, tuple(statements)))
    tally.calls += len(worker.numbers) - len(left)
    worker.close()
    return left


def _grows_again(task: Task, numbers: list[int], finding: Finding) -> bool:
    """Whether the same programs before it lead to the same: what caches keep may come once."""
    worker = Worker(numbers[: numbers.index(finding.number) + 1], task)
    while worker.poll() is None:
        time.sleep(0.002)
    found = [(f.kind, f.number) for f in worker.findings()]
    worker.close()
    return ("growth", finding.number) in found


def _hangs(task: Task, number: int) -> bool:
    """Whether it takes too long in a process of its own, too."""
    return any(finding.kind == "hang" for finding in run_one(task, number))


def death(ended: str, said: str) -> tuple[str, str]:
    """Kind and detail of a worker's end."""
    if ended == "HANG":
        return "hang", f"more than {HANG:.0f} s"
    judgement = judge_death(ended, said)
    return judgement.kind, judgement.detail


def alone(program: Program, growth: bool = False, number: int = 0) -> list[Finding]:
    """What one program does in a process of its own."""
    return run_one(fuzzing(lambda _: program, growth), number)


def run_one(task: Task, number: int) -> list[Finding]:
    """The same for any task."""
    worker = Worker([number], task)
    while (ended := worker.poll()) is None:
        time.sleep(0.0005)
    found = list(worker.findings())
    if ended:
        _, _, statements, _ = worker.channel.read()
        kind, detail = death(ended, worker.said())
        name = task.make(number).name
        found.insert(0, Finding(kind, detail, name, number, tuple(statements)))
    worker.close()
    return found
