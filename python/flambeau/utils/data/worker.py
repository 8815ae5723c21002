"""Processes that load batches.

A worker receives (number, indices) over a queue of its own and sends back (number, worker, batch);
the batch travels as a pickle with the bytes of its tensors.
"""

from __future__ import annotations

import io
import pickle
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flambeau


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker process this is."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process, what it is; elsewhere None."""
    return _info


class Failure:
    """An exception of a worker, with its traceback as text."""

    def __init__(self, worker: int, error: BaseException) -> None:
        self.worker = worker
        self.kind = type(error)
        self.text = traceback.format_exc()

    def raise_again(self) -> None:
        """Raises the exception here; its message holds the worker's traceback."""
        message = f"DataLoader worker {self.worker} failed:\n{self.text}"
        if issubclass(self.kind, KeyError):
            raise RuntimeError(message)
        try:
            error = self.kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class End:
    """What a worker sends when an iterable dataset has no more samples."""


def packed(value: Any) -> bytes:
    """A batch as bytes."""
    buffer = io.BytesIO()
    pickle.Pickler(buffer, protocol=5).dump(value)
    return buffer.getvalue()


def work(
    worker: int,
    count: int,
    dataset: Any,
    make_fetch: Callable[[Any], Callable[[Any], Any]],
    seed: int,
    init: Callable[[int], Any] | None,
    tasks: Any,
    results: Any,
) -> None:
    """The life of a worker: batches until a None comes."""
    global _info
    try:
        flambeau.set_num_threads(1)
        random.seed(seed + worker)
        flambeau.manual_seed(seed + worker)
        _info = WorkerInfo(worker, count, seed + worker, dataset)
        start_error: Failure | None = None
        fetch: Callable[[Any], Any] | None = None
        try:
            if init is not None:
                init(worker)
            fetch = make_fetch(dataset)
        except Exception as error:
            start_error = Failure(worker, error)
        while (task := tasks.get()) is not None:
            number, indices = task
            try:
                answer = start_error if fetch is None else fetch(indices)
            except StopIteration:
                answer = End()
            except Exception as error:
                answer = Failure(worker, error)
            try:
                content = packed((number, worker, answer))
            except Exception as error:
                content = packed((number, worker, Failure(worker, error)))
            results.put(content)
    except KeyboardInterrupt:
        pass  # the main process says so
