"""Values that are computed later: `Future`, which calls of processes give."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from flambeau._values import brief

T = TypeVar("T")
S = TypeVar("S")

__all__ = ["Future", "collect_all", "wait_all"]


class Future(Generic[T]):
    """A value that comes later, or the error that came in its place.

    Args:
        devices: must be empty: values are the CPU's.

    Example:
        >>> future = flambeau.futures.Future()
        >>> doubled = future.then(lambda done: 2 * done.value())
        >>> future.done()
        False
        >>> future.set_result(21)
        >>> doubled.wait()
        42
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        if devices:
            raise ValueError(
                f"Future: devices must be empty: values are the CPU's, got {brief(devices)}"
            )
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._after: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether there is a value, or an error."""
        return self._done.is_set()

    def wait(self) -> T:
        """The value, as soon as it is there; raises the error if that came."""
        self._done.wait()
        return self.value()

    def value(self) -> T:
        """The value of a future that is done; raises the error if that came.

        Raises:
            RuntimeError: it is not done.
        """
        if not self._done.is_set():
            raise RuntimeError("Future.value(): the future is not done; wait() waits for it")
        if self._error is not None:
            raise self._error
        result: T = self._value
        return result

    def set_result(self, result: T) -> None:
        """Gives it its value; RuntimeError if it is done."""
        self._finish("set_result", result, None)

    def set_exception(self, result: BaseException) -> None:
        """Gives it an error in place of a value; RuntimeError if it is done."""
        if not isinstance(result, BaseException):
            raise TypeError(f"Future.set_exception: expected an exception, got {result!r}")
        self._finish("set_exception", None, result)

    def _finish(self, method: str, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done.is_set():
                raise RuntimeError(f"Future.{method}: the future is done already")
            self._value, self._error = value, error
            self._done.set()
            after, self._after = self._after, []
        for call in after:
            self._follow(call)

    def _follow(self, call: Callable[[Future[T]], Any]) -> None:
        """Runs what follows."""
        call(self)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Calls a function with this future when it is done; at once if it is.

        What the function raises goes to who finished the future.
        """
        with self._lock:
            if not self._done.is_set():
                self._after.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what a function of this one, when it is done, returns or raises."""
        return self._then(callback, Future())

    def _then(self, callback: Callable[[Future[T]], S], following: Future[S]) -> Future[S]:
        def call(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(call)
        return following


class FutureOfCall(Future[T]):
    """A future of a call that runs in the background: what follows it does not keep the calls after
    it from running.
    """

    def wait(self) -> T:
        """The value, as soon as it is there; raises the error if that came."""
        _followers.help(self._done)
        return super().wait()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what a function of this one, when it is done, returns or raises."""
        following: Future[S] = FutureOfCall()
        return self._then(callback, following)

    def _follow(self, call: Callable[[Future[T]], Any]) -> None:
        _followers.put(functools.partial(call, self))


class _Followers:
    """A thread that runs what follows calls, in the order in which these ended: the same in all
    processes.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, call: Callable[[], Any]) -> None:
        """Runs a function after those before it."""
        self._calls.put(call)
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="followers", daemon=True)
                self._thread.start()

    def help(self, until: threading.Event) -> None:
        """Where the thread itself has to wait: runs what is to be run meanwhile."""
        if threading.current_thread() is not self._thread:
            return
        while not until.is_set():
            with contextlib.suppress(Empty):
                self._calls.get(timeout=0.001)()

    def _run(self) -> None:
        while True:
            self._calls.get()()


_followers = _Followers()


def _after_fork() -> None:
    """A child has none of the parent's threads, and nothing to follow."""
    global _followers
    _followers = _Followers()


os.register_at_fork(after_in_child=_after_fork)


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done when all of some are; its value is the list of these.

    Example:
        >>> first, second = flambeau.futures.Future(), flambeau.futures.Future()
        >>> both = flambeau.futures.collect_all([first, second])
        >>> first.set_result(1)
        >>> both.done()
        False
        >>> second.set_result(2)
        >>> [one.value() for one in both.wait()]
        [1, 2]
    """
    given = list(futures)
    all_of_them: Future[list[Future[Any]]] = Future()
    lock = threading.Lock()
    left = len(given)

    def one_is_done(_: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            all_of_them.set_result(given)

    if not given:
        all_of_them.set_result([])
    for future in given:
        future.add_done_callback(one_is_done)
    return all_of_them


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values of all, in their order; raises the first error among them.

    Example:
        >>> future = flambeau.futures.Future()
        >>> future.set_result("here")
        >>> flambeau.futures.wait_all([future])
        ['here']
    """
    return [future.wait() for future in collect_all(futures).wait()]
