"""Starts a program in several processes, which find each other by their environment.

    python -m flambeau.distributed.run --nproc-per-node 4 train.py --epochs 3
    python -m flambeau.distributed.run --nnodes 2 --node-rank 0 --nproc-per-node 4 \\
        --master-addr 10.0.0.1 --master-port 29500 train.py      # and on the other, --node-rank 1

Every process has RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and more in its
environment, and `init_process_group()` needs nothing else. When one fails the others are ended, and
the command ends with its status; with --max-restarts all begin again.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from types import FrameType

from flambeau.distributed.tcp_store import TCPStore

_GRACE = 10.0
"""Seconds that processes have to end by themselves after they were asked to."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m flambeau.distributed.run",
        description="Start a program in several processes that train together.",
    )

    def add(name: str, kind: type, default: object, text: str) -> None:
        other = "--" + name[2:].replace("-", "_")
        names = [name] if other == name else [name, other]
        parser.add_argument(*names, type=kind, default=default, help=text)

    add("--nproc-per-node", str, "1", "processes of this machine; cpu, auto: one for each core")
    add("--nnodes", str, "1", "machines")
    add("--node-rank", int, 0, "the number of this machine, from 0")
    add("--master-addr", str, "127.0.0.1", "the address of machine 0")
    add("--master-port", int, 29500, "a free port there; one machine: 0 takes any")
    add("--rdzv-backend", str, "static", "static, or c10d, which needs --rdzv-endpoint")
    add("--rdzv-endpoint", str, "", "HOST:PORT of machine 0, in place of --master-addr and -port")
    add("--rdzv-id", str, "", "a name of this run")
    add("--max-restarts", int, 0, "how often all begin again after a failure; of one machine")
    add("--monitor-interval", float, 0.1, "of no meaning: the end of a process is seen at once")
    parser.add_argument("--standalone", action="store_true", help="one machine, any free port")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    parser.add_argument(
        "--no-python", "--no_python", action="store_true", help="the program is no Python program"
    )
    parser.add_argument("program", help="a path; with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")
    return parser


def _count(text: str) -> int:
    """The number of processes that --nproc-per-node says."""
    if text in ("cpu", "auto"):
        return len(os.sched_getaffinity(0))
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise SystemExit(
        f"--nproc-per-node must be a positive number, cpu or auto, got {text!r}; processes "
        "exchange tensors of the cpu"
    )


def _command(given: argparse.Namespace) -> list[str]:
    if given.no_python:
        return [given.program, *given.arguments]
    python = [sys.executable, "-u"]
    if "torch" in sys.modules:
        # This was started by run_as_torch: so are they.
        python += ["-m", "flambeau.run_as_torch"]
    return [*python, *(["-m"] if given.module else []), given.program, *given.arguments]


class Launcher:
    """The processes of this machine.

    Args:
        given: what the command line said.
    """

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._local = _count(given.nproc_per_node)
        machines = given.nnodes.split(":")
        if len(set(machines)) != 1 or not machines[0].isdigit() or int(machines[0]) < 1:
            raise SystemExit(
                f"--nnodes must be a positive number, got {given.nnodes!r}; the number of machines "
                "does not change while a program runs"
            )
        self._machines = int(machines[0])
        if not 0 <= given.node_rank < self._machines:
            raise SystemExit(
                f"--node-rank must be within [0, {self._machines - 1}], got {given.node_rank}"
            )
        if self._machines > 1 and given.max_restarts:
            raise SystemExit("--max-restarts must be 0 for several machines, which cannot agree")
        self._store: TCPStore | None = None
        self._host, self._port = given.master_addr, given.master_port
        if given.rdzv_endpoint:
            self._host, _, port = given.rdzv_endpoint.partition(":")
            self._port = int(port or self._port)
        if self._machines == 1:
            # Kept here, over all attempts: no port is looked for that somebody else may take.
            free = given.standalone or given.rdzv_backend == "c10d"
            self._host = "127.0.0.1"
            self._store = TCPStore(self._host, 0 if free else self._port, is_master=True)
            self._port = self._store.port
        self._run_id = given.rdzv_id or uuid.uuid4().hex[:8]
        self._children: list[subprocess.Popen[bytes]] = []

    def _environment(self, local_rank: int, attempt: int) -> dict[str, str]:
        size, given = self._local * self._machines, self._given
        rank = given.node_rank * self._local + local_rank
        values = {
            "LOCAL_RANK": local_rank,
            "RANK": rank,
            "ROLE_RANK": rank,
            "GROUP_RANK": given.node_rank,
            "LOCAL_WORLD_SIZE": self._local,
            "WORLD_SIZE": size,
            "ROLE_WORLD_SIZE": size,
            "GROUP_WORLD_SIZE": self._machines,
            "ROLE_NAME": "default",
            "MASTER_ADDR": self._host,
            "MASTER_PORT": self._port,
            "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": given.max_restarts,
            "TORCHELASTIC_RUN_ID": self._run_id,
            "TORCHELASTIC_USE_AGENT_STORE": self._store is not None,
        }
        environment = {**os.environ, **{name: str(value) for name, value in values.items()}}
        if self._local > 1:
            # Processes that each use all cores are in each other's way.
            environment.setdefault("OMP_NUM_THREADS", "1")
        return environment

    def run(self) -> int:
        """Runs the program until all have ended, or one has failed too often; its status."""
        for attempt in range(self._given.max_restarts + 1):
            failed = self._attempt(attempt)
            if failed is None:
                return 0
            rank, status = failed
            how = f"was ended by signal {-status}" if status < 0 else f"exited with {status}"
            left = self._given.max_restarts - attempt
            print(
                f"flambeau.distributed.run: rank {rank} (attempt {attempt}) {how}; the others were "
                f"ended{f', restarts left: {left}' if left else ''}",
                file=sys.stderr,
                flush=True,
            )
        return status if status > 0 else 128 - status

    def _attempt(self, attempt: int) -> tuple[int, int] | None:
        """The rank and the status of the first process that fails; None: none does."""
        command = _command(self._given)
        try:
            for local_rank in range(self._local):
                environment = self._environment(local_rank, attempt)
                self._children.append(subprocess.Popen(command, env=environment))
            for local_rank, status in self._ended():
                if status:
                    return self._given.node_rank * self._local + local_rank, status
            return None
        finally:
            self.end()

    def _ended(self) -> Iterator[tuple[int, int]]:
        """The local ranks of processes and their statuses, in the order in which they end: those
        that end because another one did are not the ones to name.
        """
        ended: SimpleQueue[tuple[int, int]] = SimpleQueue()

        def watch(local_rank: int, child: subprocess.Popen[bytes]) -> None:
            ended.put((local_rank, child.wait()))

        for local_rank, child in enumerate(self._children):
            threading.Thread(target=watch, args=(local_rank, child), daemon=True).start()
        for _ in range(len(self._children)):
            yield ended.get()

    def end(self) -> None:
        """Asks all processes to end, and ends those that do not."""
        for child in self._children:
            if child.poll() is None:
                child.terminate()
        deadline = time.monotonic() + _GRACE
        for child in self._children:
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._children.clear()


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command `python -m flambeau.distributed.run`.

    Args:
        arguments: None: those of this process.

    Raises:
        SystemExit: with 0, or the status of the process that failed.

    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "flambeau.distributed.run", "--standalone"]
        >>> command += ["--nproc-per-node=2", "--no-python", "sh", "-c", "exit $RANK"]
        >>> done = subprocess.run(command, capture_output=True, text=True)
        >>> done.returncode, done.stderr
        (1, 'flambeau.distributed.run: rank 1 (attempt 0) exited with 1; the others were ended\\n')
    """
    launcher = Launcher(_parser().parse_args(arguments))
    signal.signal(signal.SIGTERM, _interrupted)
    sys.exit(launcher.run())


if __name__ == "__main__":
    main()
