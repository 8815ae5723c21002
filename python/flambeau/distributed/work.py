"""Calls that go on in the background, in the order in which they were made."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from flambeau.distributed.errors import DistBackendError
from flambeau.distributed.wire import seconds
from flambeau.futures import Future, FutureOfCall


class Work:
    """What became of an asynchronous call.

    Args:
        tensors: the results, which are written to until `wait` has returned.
        source: the rank that a message came from.
        name: of the call, for messages.

    Example:
        >>> x = flambeau.ones(2)
        >>> work = flambeau.distributed.all_reduce(x, async_op=True)
        >>> work.wait(), work.is_success(), work.result()
        (True, True, [tensor([1., 1.])])
    """

    def __init__(self, name: str, tensors: list[Any]) -> None:
        self._name = name
        self._tensors = tensors
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._source: int | None = None
        self._after: list[Callable[[Work], None]] = []
        self._lock = threading.Lock()

    def _finish(self, error: BaseException | None = None) -> None:
        with self._lock:
            self._error = error
            self._done.set()
            after, self._after = self._after, []
        for call in after:
            call(self)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits until the results are there.

        Args:
            timeout: how long; None, or 0: as long as the group's timeout allows.

        Returns:
            True.

        Raises:
            DistBackendError: the call failed, as its text says, or is not done in time.
        """
        limit = None if timeout is None or not seconds(timeout) else seconds(timeout)
        if not self._done.wait(limit):
            raise DistBackendError(f"{self._name}: not done within {limit:g} s")
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Whether it is done, or has failed."""
        return self._done.is_set()

    def is_success(self) -> bool:
        """Whether it is done and has not failed."""
        return self._done.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        """Why it failed; None: it did not."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors that were written to; waits."""
        self.wait()
        return self._tensors

    def get_future(self) -> Future[list[Any]]:
        """A future of `result()`. What follows it runs in a thread of its own, in which calls of
        the group may be made and waited for, if no others are made meanwhile: all processes must
        make them in the same order.
        """
        future: Future[list[Any]] = FutureOfCall()

        def over(work: Work) -> None:
            if work._error is None:
                future.set_result(work._tensors)
            else:
                future.set_exception(work._error)

        with self._lock:
            if not self._done.is_set():
                self._after.append(over)
                return future
        over(self)
        return future

    def source_rank(self) -> int:
        """The rank that a received message came from.

        Raises:
            RuntimeError: this is no finished `irecv`.
        """
        if self._source is None:
            raise RuntimeError("Work.source_rank(): only of a message that was received")
        return self._source

    def synchronize(self) -> None:
        """Waits."""
        self.wait()


class Lane:
    """Runs calls one after the other: the first in the caller's own thread, if nothing is under
    way and the caller waits anyway, others in a thread that begins when it is needed.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._calls: deque[tuple[Callable[[], Any], Work]] = deque()
        self._busy = False
        self._thread: threading.Thread | None = None

    def submit(self, call: Callable[[], Any], work: Work, here: bool) -> Callable[[], None] | None:
        """Puts a call behind all others. `here`: the caller waits, so that its thread may run it:
        then that is what it gets, and does at once.
        """
        with self._changed:
            if here and not self._busy and not self._calls:
                self._busy = True
            else:
                here = False
                self._calls.append((call, work))
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()
                self._changed.notify_all()
        return functools.partial(self._run_here, call, work) if here else None

    def _run_here(self, call: Callable[[], Any], work: Work) -> None:
        try:
            _do(call, work)
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def drain(self, timeout: float) -> bool:
        """Waits until nothing is under way; whether that came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy and not self._calls, timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                ready = self._changed.wait_for(lambda: self._calls and not self._busy, 60)
                if not ready:
                    self._thread = None
                    return
                call, work = self._calls.popleft()
                self._busy = True
            _do(call, work)
            del call, work
            with self._changed:
                self._busy = False
                self._changed.notify_all()


def _do(call: Callable[[], Any], work: Work) -> None:
    try:
        call()
    except BaseException as error:
        work._finish(error)
        if not isinstance(error, Exception):
            raise  # the interpreter ends, or somebody pressed a key
    else:
        work._finish()
