# mypy: implicit-reexport
"""Queues by the module that programs import them from."""

from __future__ import annotations

from flambeau.multiprocessing.queues import JoinableQueue, Queue, SimpleQueue

__all__ = ["JoinableQueue", "Queue", "SimpleQueue"]
