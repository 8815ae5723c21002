"""Queues whose objects may hold tensors."""

from __future__ import annotations

import errno
import multiprocessing.queues
import os
import threading
import time
from functools import partial
from queue import Empty
from typing import TYPE_CHECKING, Any

from flambeau.multiprocessing.connection import Connection, Pipe
from flambeau.multiprocessing.parcels import Parcel, pack, unpack

if TYPE_CHECKING:
    _Queue = multiprocessing.queues.Queue[Any]
else:
    _Queue = multiprocessing.queues.Queue

_opened = threading.local()


class _Enveloped:
    """A parcel in the buffer of a queue. The thread that empties the buffer pickles what it takes
    and sends the bytes at once; pickling this one lays the parcel ready to be sent instead."""

    def __init__(self, parcel: Parcel) -> None:
        self.parcel = parcel

    def __reduce__(self) -> tuple[Any, ...]:
        _opened.parcel = self.parcel
        return bytes, ()


def _send_opened(writer: Connection, _: Any) -> None:
    parcel = _opened.parcel
    del _opened.parcel
    try:
        writer.send_parcel(parcel)
    except ConnectionResetError as error:
        # What a socket says, where a pipe is broken, when something unread was lost.
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from error


class _OfParcels(_Queue):
    """What becomes of one of Python's queues over a pipe that carries descriptors. Objects are
    pickled by `put`, so that it raises what is wrong with them."""

    _reader: Connection
    _writer: Connection

    def __init__(self, maxsize: int = 0, *, ctx: Any) -> None:
        super().__init__(maxsize, ctx=ctx)
        self._reader.close()
        self._writer.close()
        self._reader, self._writer = Pipe(duplex=False)
        self._reset()

    def _reset(self, after_fork: bool = False) -> None:
        super()._reset(after_fork)  # type: ignore[misc]
        self._send_bytes = partial(_send_opened, self._writer)

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        """Puts an object in; the memory of its tensors is shared from now on."""
        super().put(_Enveloped(pack(obj)), block, timeout)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Takes the next object out.

        Raises:
            queue.Empty: if none has come in time.
        """
        if self._closed:  # type: ignore[attr-defined]
            raise ValueError(f"Queue {self!r} is closed")
        end = None if timeout is None else time.monotonic() + timeout
        if not self._rlock.acquire(block, timeout):  # type: ignore[attr-defined]
            raise Empty
        try:
            if not block or end is not None:
                left = 0.0 if end is None or not block else max(0.0, end - time.monotonic())
                if not self._reader.poll(left):
                    raise Empty
            parcel = self._reader.recv_parcel()
            self._sem.release()  # type: ignore[attr-defined]
        finally:
            self._rlock.release()  # type: ignore[attr-defined]
        return unpack(parcel)


class Queue(_OfParcels):
    """`multiprocessing.Queue`: any process may put objects in and take them out.

    Args:
        maxsize: how many objects there may be; 0: any number.
        ctx: the context of a start method, whose `Queue()` makes one.

    Example:
        >>> queue = flambeau.multiprocessing.get_context("fork").Queue()
        >>> queue.put(flambeau.ones(2))
        >>> queue.get(), isinstance(queue, flambeau.multiprocessing.queue.Queue)
        (tensor([1., 1.]), True)
    """


class JoinableQueue(_OfParcels, multiprocessing.queues.JoinableQueue):  # type: ignore[type-arg]
    """`multiprocessing.JoinableQueue`: a Queue that can be waited for until all is done.

    Args:
        maxsize, ctx: as of `Queue`.

    Example:
        >>> queue = flambeau.multiprocessing.get_context("fork").JoinableQueue()
        >>> queue.put(flambeau.ones(2))
        >>> queue.get(), queue.task_done(), queue.join()
        (tensor([1., 1.]), None, None)
    """


class SimpleQueue(multiprocessing.queues.SimpleQueue):  # type: ignore[type-arg]
    """`multiprocessing.SimpleQueue`: a pipe with locks, and no thread.

    Args:
        ctx: the context of a start method, whose `SimpleQueue()` makes one.

    Example:
        >>> queue = flambeau.multiprocessing.get_context("fork").SimpleQueue()
        >>> queue.put(flambeau.ones(2))
        >>> queue.get()
        tensor([1., 1.])
    """

    _reader: Connection
    _writer: Connection

    def __init__(self, *, ctx: Any) -> None:
        super().__init__(ctx=ctx)
        self._reader.close()
        self._writer.close()
        self._reader, self._writer = Pipe(duplex=False)
        self._poll = self._reader.poll

    def put(self, obj: Any) -> None:
        """Puts an object in; the memory of its tensors is shared from now on."""
        parcel = pack(obj)
        with self._wlock:  # type: ignore[attr-defined]
            self._writer.send_parcel(parcel)

    def get(self) -> Any:
        """Takes the next object out, when there is one."""
        with self._rlock:  # type: ignore[attr-defined]
            parcel = self._reader.recv_parcel()
        return unpack(parcel)
