"""Running functions in several processes that belong to one group."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import flambeau
import flambeau.distributed as dist
from flambeau import multiprocessing as mp


def joined(
    rank: int,
    size: int,
    port: int,
    seconds: float,
    act: Callable[..., Any],
    answers: Any,
    args: Any,
) -> None:
    """What a process does that joins a group, acts and leaves."""
    flambeau.set_num_threads(1)
    limit = timedelta(seconds=seconds)
    store = dist.TCPStore("127.0.0.1", port, timeout=limit)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=limit)
    answers.put((rank, act(rank, size, *args)))
    dist.destroy_process_group()


def ranks(size: int, act: Callable[..., Any], *args: Any, seconds: float = 20) -> list[Any]:
    """What `act(rank, size, *args)` returns in each of `size` processes of one group."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    answers = mp.get_context("fork").SimpleQueue()
    given = (size, store.port, seconds, act, answers, args)
    context = mp.start_processes(joined, given, size, join=False, start_method="fork")
    assert context is not None
    found: dict[int, Any] = {}
    while not context.join(timeout=0.02):
        while not answers.empty():
            rank, answer = answers.get()
            found[rank] = answer
    while not answers.empty():
        rank, answer = answers.get()
        found[rank] = answer
    return [found[rank] for rank in range(size)]
