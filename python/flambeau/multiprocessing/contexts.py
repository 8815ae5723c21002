"""Ways to start processes, with pipes, queues and pools that pass tensors."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
from typing import Any

from flambeau._values import brief
from flambeau.multiprocessing import connection, queues


class _Channels(multiprocessing.context.BaseContext):
    """What is made by a context and carries objects. Python's pools make theirs by the context."""

    def Pipe(self, duplex: bool = True) -> Any:
        """Two ends of a pipe; without `duplex` the first one receives, the second one sends."""
        return connection.Pipe(duplex)

    def Queue(self, maxsize: int = 0) -> Any:
        """A queue that any process may put into and take from."""
        return queues.Queue(maxsize, ctx=self)

    def JoinableQueue(self, maxsize: int = 0) -> Any:
        """A queue that can be waited for until all is done."""
        return queues.JoinableQueue(maxsize, ctx=self)

    def SimpleQueue(self) -> Any:
        """A pipe with locks, and no thread."""
        return queues.SimpleQueue(ctx=self)

    def get_context(self, method: str | None = None) -> Any:
        """The context of another start method; without one, this."""
        return self if method is None else get_context(method)


class ForkContext(_Channels, multiprocessing.context.ForkContext):
    """Processes begin as copies of this one."""


class SpawnContext(_Channels, multiprocessing.context.SpawnContext):
    """Processes begin anew."""


class ForkServerContext(_Channels, multiprocessing.context.ForkServerContext):
    """Processes begin as copies of a server that was started anew."""


_CONTEXTS: dict[str, Any] = {
    context._name: context for context in (ForkContext(), SpawnContext(), ForkServerContext())
}


def get_context(method: str | None = None) -> Any:
    """The context of a start method: "fork", "spawn" or "forkserver"; None: the one that is set,
    for Python's multiprocessing too.

    Raises:
        ValueError: if there is no such method.

    Example:
        >>> flambeau.multiprocessing.get_context("spawn").get_start_method()
        'spawn'
    """
    if method is None:
        method = multiprocessing.get_start_method()
    if method not in _CONTEXTS:
        raise ValueError(f"cannot find context for {brief(method)}")
    return _CONTEXTS[method]


def get_all_start_methods() -> list[str]:
    """The start methods of this system; the default comes first.

    Example:
        >>> sorted(flambeau.multiprocessing.get_all_start_methods())
        ['fork', 'forkserver', 'spawn']
    """
    return multiprocessing.get_all_start_methods()


def get_start_method(allow_none: bool = False) -> str | None:
    """The start method that is set; None, where allowed, if none has been set or used yet.

    Args:
        allow_none: whether None may be returned; else the default is set.

    Example:
        >>> method = flambeau.multiprocessing.get_start_method()
        >>> method in flambeau.multiprocessing.get_all_start_methods()
        True
    """
    return multiprocessing.get_start_method(allow_none)


def set_start_method(method: str | None, force: bool = False) -> None:
    """Sets how processes start, here and in Python's multiprocessing.

    Args:
        method: "fork", "spawn" or "forkserver".
        force: also if one has been set or used before.

    Raises:
        RuntimeError: if one was set before.
        ValueError: if there is no such method.

    Example:
        >>> before = flambeau.multiprocessing.get_start_method(allow_none=True)
        >>> flambeau.multiprocessing.set_start_method("spawn", force=True)
        >>> flambeau.multiprocessing.get_start_method()
        'spawn'
        >>> flambeau.multiprocessing.set_start_method(before, force=True)
    """
    multiprocessing.set_start_method(method, force)


def Pipe(duplex: bool = True) -> Any:
    """Two ends of a pipe; without `duplex` the first one receives, the second one sends.

    Example:
        >>> receiving, sending = flambeau.multiprocessing.Pipe(duplex=False)
        >>> x = flambeau.zeros(2)
        >>> sending.send(x)
        >>> received = receiving.recv()
        >>> x[0] = 7  # in the memory of both
        >>> received
        tensor([7., 0.])
    """
    return connection.Pipe(duplex)


def Queue(maxsize: int = 0) -> Any:
    """A queue that any process may put into and take from.

    The memory of tensors that are put in is shared from then on: a write on one side is seen on the
    other.

    Args:
        maxsize: how many objects it holds; 0: any number.

    Example:
        >>> queue = flambeau.multiprocessing.Queue()
        >>> x = flambeau.zeros(2)
        >>> queue.put(x)
        >>> received = queue.get()
        >>> received[1] = 7
        >>> x
        tensor([0., 7.])
    """
    return get_context().Queue(maxsize)


def JoinableQueue(maxsize: int = 0) -> Any:
    """A queue that can be waited for until all is done.

    Args:
        maxsize: how many objects it holds; 0: any number.

    Example:
        >>> queue = flambeau.multiprocessing.JoinableQueue()
        >>> queue.put(flambeau.ones(2))
        >>> queue.get().sum()
        tensor(2.)
        >>> queue.task_done()
        >>> queue.join()  # returns, as what was put in is done
    """
    return get_context().JoinableQueue(maxsize)


def SimpleQueue() -> Any:
    """A pipe with locks, and no thread.

    Example:
        >>> queue = flambeau.multiprocessing.SimpleQueue()
        >>> queue.put(flambeau.arange(3))
        >>> queue.get(), queue.empty()
        (tensor([0, 1, 2]), True)
    """
    return get_context().SimpleQueue()


def Pool(
    processes: int | None = None,
    initializer: Any = None,
    initargs: Any = (),
    maxtasksperchild: int | None = None,
) -> Any:
    """Processes that functions are applied by; arguments and results may hold tensors.

    Args:
        processes: how many; None: one per processor.
        initializer, initargs: what each process calls first.
        maxtasksperchild: after so many tasks a process is replaced.

    Example:
        >>> from flambeau import multiprocessing
        >>> with multiprocessing.get_context("fork").Pool(2) as pool:
        ...     pool.map(flambeau.neg, [flambeau.ones(1), flambeau.ones(2)])
        [tensor([-1.]), tensor([-1., -1.])]
    """
    return get_context().Pool(processes, initializer, initargs, maxtasksperchild)
