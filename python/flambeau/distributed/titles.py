"""What profiles call collective calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flambeau._C import _profiler
from flambeau._values import brief
from flambeau.profiler import record_function

_chosen = threading.local()


def titled(operation: str, act: Callable[[], None]) -> Callable[[], None]:
    """A call that this thread makes now, as profiles show it; itself where there is none."""
    if not _profiler.is_on():
        return act
    title: str | None = getattr(_chosen, "title", None)
    return record_function(f"gloo:{operation}" if title is None else title)(act)


@contextmanager
def record_comm(name: str) -> Iterator[None]:
    """A context in which profiles show collective calls under this name, in place of
    "gloo:all_reduce" and the like.

    Args:
        name: what this thread's calls are called.

    Raises:
        TypeError: the name is no str.

    Example:
        >>> with flambeau.profiler.profile() as profile:
        ...     with flambeau.distributed.record_comm("gradients of layer 1"):
        ...         flambeau.distributed.all_reduce(flambeau.ones(2))
        ...     flambeau.distributed.barrier()
        >>> [event.name for event in profile.events() if event.kind == "range"]
        ['gradients of layer 1', 'gloo:barrier']
    """
    if not isinstance(name, str):
        raise TypeError(f"record_comm: name must be a str, got {brief(name)}")
    before = getattr(_chosen, "title", None)
    _chosen.title = name
    try:
        yield
    finally:
        _chosen.title = before
