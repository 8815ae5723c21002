"""What profiles call collective calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flambeau._values import brief

_chosen = threading.local()


def title_of(operation: str) -> str:
    """The name of a call that this thread makes now."""
    title: str | None = getattr(_chosen, "title", None)
    return f"gloo:{operation}" if title is None else title


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
