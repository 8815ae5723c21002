"""Starting a function in several processes, and learning what became of it."""

from __future__ import annotations

import contextlib
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.connection import Pipe as BytePipe
from typing import Any

from flambeau.multiprocessing.contexts import get_context


class ProcessException(Exception):
    """A process of `start_processes` failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended with an exception; the message holds its traceback.

    Args:
        msg: what is printed, with the traceback.
        error_index: which process.
        error_pid: its number in the system.

    Example:
        >>> import operator
        >>> from flambeau.multiprocessing import ProcessRaisedException, start_processes
        >>> try:
        ...     start_processes(operator.floordiv, (0,), start_method="fork")
        ... except ProcessRaisedException as error:
        ...     print(error.error_index, str(error).splitlines()[-1])
        0 ZeroDivisionError: integer division or modulo by zero
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process exited with another code than 0, or was ended by a signal.

    Args:
        msg: what is printed.
        error_index: which process.
        error_pid: its number in the system.
        exit_code: with which it ended.
        signal_name: which ended it; None: none did.

    Example:
        >>> import os
        >>> from flambeau.multiprocessing import ProcessExitedException, start_processes
        >>> try:
        ...     start_processes(os._exit, nprocs=2, start_method="fork")
        ... except ProcessExitedException as error:
        ...     print(error.error_index, error.exit_code)
        1 1
    """

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)
        return type(self), parts


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the starting process was interrupted, too
    except Exception:
        # A starting process that is gone does not want to know.
        with contextlib.suppress(OSError):
            errors.send_bytes(traceback.format_exc().encode())
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that run one function.

    Args:
        processes: that were started.
        errors: for each, what it sends the traceback over when it fails.

    Example:
        >>> import math
        >>> context = flambeau.multiprocessing.start_processes(
        ...     math.sqrt, nprocs=2, join=False, start_method="fork"
        ... )
        >>> len(context.pids())
        2
        >>> while not context.join():  # returns each time that one has ended
        ...     pass
    """

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self._errors: list[Connection] = errors
        self._texts: dict[int, str] = {}

    def pids(self) -> list[int]:
        """The processes' numbers in the system."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until all processes have ended, or one has failed: then the others are ended.

        Args:
            timeout: seconds to wait; None: without end.
            grace_period: seconds that the others have to end by themselves; None: as long as the
                system takes to end them.

        Returns:
            Whether all have ended.

        Raises:
            ProcessRaisedException: if one raised an exception.
            ProcessExitedException: if one exited otherwise.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while running := self._running():
            failed = self._failed()
            if failed is not None:
                break
            left = None if end is None else max(0.0, end - time.monotonic())
            if not self._wait(running, left):
                return False
        failed = self._failed()
        if failed is None:
            return True
        self._end(grace_period)
        self._raise(failed)
        return True

    def _running(self) -> list[int]:
        return [i for i, process in enumerate(self.processes) if process.exitcode is None]

    def _failed(self) -> int | None:
        for i, process in enumerate(self.processes):
            if process.exitcode not in (None, 0):
                return i
        return None

    def _wait(self, running: list[int], timeout: float | None) -> bool:
        """Waits for a process to end, or to send what it fails of: a long text fills the pipe."""
        errors = {id(self._errors[i]): i for i in running if not self._errors[i].closed}
        sentinels = [self.processes[i].sentinel for i in running]
        ready = wait([*sentinels, *(self._errors[i] for i in errors.values())], timeout)
        for channel in ready:
            if id(channel) in errors:
                self._read(errors[id(channel)])
        return bool(ready)

    def _read(self, index: int) -> None:
        """Takes the text that a process has sent."""
        channel = self._errors[index]
        if channel.closed:
            return
        with contextlib.suppress(EOFError, OSError):
            if channel.poll():
                self._texts[index] = channel.recv_bytes().decode()
        channel.close()

    def _end(self, grace_period: float | None) -> None:
        if grace_period is not None:
            end = time.monotonic() + grace_period
            for process in self.processes:
                process.join(max(0.0, end - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + 30
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        self._read(index)
        text = self._texts.get(index)
        if text is not None:
            raise ProcessRaisedException(
                f"process {index} (pid {process.pid}) ended with an exception:\n\n{text}",
                index,
                process.pid,
            )
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"{-code}"
            raise ProcessExitedException(
                f"process {index} (pid {process.pid}) was ended by signal {name}",
                index,
                process.pid,
                code,
                name,
            )
        raise ProcessExitedException(
            f"process {index} (pid {process.pid}) exited with code {code}",
            index,
            process.pid,
            code,
        )


class SpawnContext(ProcessContext):
    """A ProcessContext of processes that began anew.

    Args:
        processes, errors: as of `ProcessContext`.

    Example:
        >>> import math
        >>> from flambeau import multiprocessing
        >>> context = multiprocessing.spawn(math.sqrt, join=False)
        >>> isinstance(context, multiprocessing.SpawnContext)
        True
        >>> context.join()
        True
    """


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls `fn(i, *args)` in processes i = 0, 1, ... `nprocs` - 1.

    Args:
        fn: a function of a module; it is found there by its name.
        args: pass tensors by their shared memory.
        join: wait for the processes; False: return a ProcessContext to wait with.
        daemon: end the processes when this one ends.
        start_method: "spawn", "fork" or "forkserver".

    Raises:
        ProcessRaisedException: if one raised an exception: all are ended, and its traceback is in
            the message.
        ProcessExitedException: if one exited otherwise.

    Example:
        >>> def mark(index, squares):
        ...     squares[index] = index**2
        >>> squares = flambeau.zeros(3).share_memory_()
        >>> from flambeau.multiprocessing import start_processes
        >>> start_processes(mark, (squares,), nprocs=3, start_method="fork")
        >>> squares
        tensor([0., 1., 4.])
    """
    starting = get_context(start_method)
    processes: list[Any] = []
    errors: list[Any] = []
    for index in range(nprocs):
        receiving, sending = BytePipe(duplex=False)
        process = starting.Process(target=_run, args=(fn, index, args, sending), daemon=daemon)
        try:
            process.start()
        except BaseException:
            for started in processes:
                started.terminate()
            raise
        sending.close()
        processes.append(process)
        errors.append(receiving)
    kind = SpawnContext if start_method == "spawn" else ProcessContext
    context = kind(processes, errors)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls `fn(i, *args)` in `nprocs` processes that begin anew; see `start_processes`.

    Args:
        fn, args, nprocs, join, daemon: as of `start_processes`.
        start_method: "spawn"; others warn.

    Example:
        >>> import operator
        >>> flambeau.multiprocessing.spawn(operator.add, (flambeau.ones(2),), nprocs=2)
    """
    if start_method != "spawn":
        warnings.warn(
            f"spawn: start_method is {start_method!r}; use start_processes for other methods than "
            "'spawn', which is what runs",
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
