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

from fuzz_calls import Program
from fuzz_judge import judge_death
from fuzz_worker import HANG, Channel, Finding, run_batch

MEMORY = 1 << 30  # bytes that a worker may take beyond what it starts with
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


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


class Worker:
    """A child process that runs a batch of programs."""

    def __init__(
        self, numbers: range | list[int], make: Callable[[int], Program], growth: bool = True
    ) -> None:
        self.numbers = list(numbers)
        self._make = make
        self._growth = growth
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
            limit_memory()
            for stream in (1, 2):
                os.dup2(self._said.fileno(), stream)
            empty = os.open(os.devnull, os.O_RDONLY)
            os.dup2(empty, 0)
            programs = ((number, self._make(number)) for number in self.numbers)
            run_batch(self.channel, self._found.fileno(), programs, self._growth)
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


def limit_memory() -> None:
    """What the sanitizer's runtime maps cannot be limited: it has an option of its own."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if SANITIZED:
        return
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def run(
    make: Callable[[int], Program],
    numbers: Iterable[int],
    jobs: int,
    batch: int,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[Tally], None] = lambda tally: None,
    growth: bool = True,
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
                workers.append(Worker(numbered, make, growth))
            if not workers:
                return tally
            for worker in list(workers):
                ended = worker.poll()
                if ended is None:
                    continue
                workers.remove(worker)
                left = _close(worker, ended, tally, make)
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


def _close(worker: Worker, ended: str, tally: Tally, make: Callable[[int], Program]) -> list[int]:
    """Counts what a worker did; the numbers that it did not come to."""
    number, _, statements, worked = worker.channel.read()
    for finding in worker.findings():
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
        program = make(number)
        found = death(ended, worker.said())
        if ended != "HANG" or _hangs(program):
            tally.add(Finding(*found, program.name, number, tuple(statements)))
    tally.calls += len(worker.numbers) - len(left)
    worker.close()
    return left


def _hangs(program: Program) -> bool:
    """Whether it takes too long in a process of its own, too."""
    return any(finding.kind == "hang" for finding in alone(program))


def death(ended: str, said: str) -> tuple[str, str]:
    """Kind and detail of a worker's end."""
    if ended == "HANG":
        return "hang", f"more than {HANG:.0f} s"
    judgement = judge_death(ended, said)
    return judgement.kind, judgement.detail


def alone(program: Program, growth: bool = False, number: int = 0) -> list[Finding]:
    """What one program does in a process of its own."""
    worker = Worker([number], lambda _: program, growth)
    while (ended := worker.poll()) is None:
        time.sleep(0.0005)
    found = list(worker.findings())
    if ended:
        _, _, statements, _ = worker.channel.read()
        found.insert(
            0, Finding(*death(ended, worker.said()), program.name, number, tuple(statements))
        )
    worker.close()
    return found
