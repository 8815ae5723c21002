"""Processes of this machine: of a command, or of a function whose results come back."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.connection import Pipe as BytePipe
from queue import SimpleQueue
from typing import Any

from flambeau.multiprocessing.contexts import get_context

_GRACE = 10.0
"""Seconds that processes have to end by themselves after they were asked to."""


class Workers:
    """Processes that are started one by one; local rank i is the i-th."""

    def __init__(self) -> None:
        self._children: list[Any] = []

    def start(self, environment: dict[str, str]) -> None:
        """Starts one, with this environment."""
        self._children.append(self._started(environment))

    def _started(self, environment: dict[str, str]) -> Any:
        raise NotImplementedError

    def _status(self, child: Any) -> int:
        """With what a process ends, once it has; a signal that ended it is negative."""
        raise NotImplementedError

    def pid(self, local_rank: int) -> int:
        """The number of a process in the system."""
        number: int = self._children[local_rank].pid
        return number

    def ended(self) -> Iterator[tuple[int, int]]:
        """The local ranks of processes and their statuses, in the order in which they end: those
        that end because another one did are not the ones to name.
        """
        ended: SimpleQueue[tuple[int, int]] = SimpleQueue()

        def watch(local_rank: int, child: Any) -> None:
            ended.put((local_rank, self._status(child)))

        for local_rank, child in enumerate(self._children):
            threading.Thread(target=watch, args=(local_rank, child), daemon=True).start()
        for _ in range(len(self._children)):
            yield ended.get()

    def end(self) -> None:
        """Asks all processes to end, and ends those that do not."""
        for child in self._children:
            child.terminate()
        deadline = time.monotonic() + _GRACE
        for child in self._children:
            if not self._waited(child, max(0.0, deadline - time.monotonic())):
                child.kill()
                self._status(child)
        self._children.clear()

    def _waited(self, child: Any, seconds: float) -> bool:
        raise NotImplementedError


class Commands(Workers):
    """Processes of a command.

    Args:
        command: what runs, and its arguments.
    """

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__()
        self._command = command

    def _started(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, env=environment)

    def _status(self, child: subprocess.Popen[bytes]) -> int:
        return child.wait()

    def _waited(self, child: subprocess.Popen[bytes], seconds: float) -> bool:
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


class Functions(Workers):
    """Processes that call a function.

    Args:
        function: that each calls; under "spawn" it is found by its name.
        args: of the function.
        method: "spawn", "fork" or "forkserver".
    """

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], method: str) -> None:
        super().__init__()
        self._function, self._args = function, tuple(args)
        self._context = get_context(method)
        self._answers: list[Connection] = []
        self.results: dict[int, Any] = {}
        self.errors: dict[int, str] = {}

    def _started(self, environment: dict[str, str]) -> Any:
        receiving, sending = BytePipe(duplex=False)
        what = (self._function, self._args, environment, sending)
        child = self._context.Process(target=_call, args=what)
        child.start()
        sending.close()
        self._answers.append(receiving)
        return child

    def _status(self, child: Any) -> int:
        if child in self._children:
            self._read(self._children.index(child))
        child.join()
        status: int = child.exitcode
        return status

    def _read(self, local_rank: int) -> None:
        """Takes what a process answers, which may be more than the pipe holds."""
        with contextlib.suppress(EOFError, OSError):
            is_result, answer = pickle.loads(self._answers[local_rank].recv_bytes())
            (self.results if is_result else self.errors)[local_rank] = answer

    def _waited(self, child: Any, seconds: float) -> bool:
        child.join(seconds)
        return child.exitcode is not None

    def end(self) -> None:
        super().end()
        self._answers.clear()


def _call(
    function: Callable[..., Any], args: tuple[Any, ...], environment: dict[str, str], answers: Any
) -> None:
    os.environ.update(environment)
    try:
        answer = pickle.dumps((True, function(*args)))
    except Exception:
        text = traceback.format_exc()
        # A launcher that is gone does not want to know.
        with contextlib.suppress(OSError):
            answers.send_bytes(pickle.dumps((False, text)))
        raise SystemExit(1) from None
    answers.send_bytes(answer)
