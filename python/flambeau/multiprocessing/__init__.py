# mypy: implicit-reexport
"""Python's `multiprocessing`, with tensors that cross processes by their memory.

A tensor that is sent over a pipe, a queue or a pool of this module is moved to shared memory, and
the receiver's tensor lies on the same memory: nothing is copied, and both sides see what either
writes. Names and start methods are those of `multiprocessing`; what has no tensors in it, locks and
events for instance, is Python's own.

    >>> from flambeau import multiprocessing
    >>> def fill(tensor, ready):
    ...     tensor.fill_(3)
    ...     ready.set()
    >>> context = multiprocessing.get_context("fork")
    >>> ready, x = context.Event(), flambeau.zeros(2).share_memory_()
    >>> process = context.Process(target=fill, args=(x, ready))
    >>> process.start()
    >>> ready.wait(), process.join(), x
    (True, None, tensor([3., 3.]))
"""

from __future__ import annotations

from multiprocessing import (
    Array,
    AuthenticationError,
    Barrier,
    BoundedSemaphore,
    BufferTooShort,
    Condition,
    Event,
    Lock,
    Manager,
    Process,
    ProcessError,
    RawArray,
    RawValue,
    RLock,
    Semaphore,
    TimeoutError,
    Value,
    active_children,
    allow_connection_pickling,
    cpu_count,
    current_process,
    freeze_support,
    get_logger,
    log_to_stderr,
    parent_process,
    reducer,
    set_executable,
    set_forkserver_preload,
)

from flambeau.multiprocessing import reductions as reductions
from flambeau.multiprocessing.contexts import (
    JoinableQueue,
    Pipe,
    Pool,
    Queue,
    SimpleQueue,
    get_all_start_methods,
    get_context,
    get_start_method,
    set_start_method,
)
from flambeau.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)
from flambeau.multiprocessing.strategies import (
    get_all_sharing_strategies,
    get_sharing_strategy,
    set_sharing_strategy,
)

__all__ = [
    "Array",
    "AuthenticationError",
    "Barrier",
    "BoundedSemaphore",
    "BufferTooShort",
    "Condition",
    "Event",
    "JoinableQueue",
    "Lock",
    "Manager",
    "Pipe",
    "Pool",
    "Process",
    "ProcessContext",
    "ProcessError",
    "ProcessExitedException",
    "ProcessRaisedException",
    "Queue",
    "RLock",
    "RawArray",
    "RawValue",
    "Semaphore",
    "SimpleQueue",
    "SpawnContext",
    "TimeoutError",
    "Value",
    "active_children",
    "allow_connection_pickling",
    "cpu_count",
    "current_process",
    "freeze_support",
    "get_all_sharing_strategies",
    "get_all_start_methods",
    "get_context",
    "get_logger",
    "get_sharing_strategy",
    "get_start_method",
    "log_to_stderr",
    "parent_process",
    "reducer",
    "set_executable",
    "set_forkserver_preload",
    "set_sharing_strategy",
    "set_start_method",
    "spawn",
    "start_processes",
]
