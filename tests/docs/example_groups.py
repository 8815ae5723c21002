"""Runs examples, those of several processes in the process groups that they speak of."""

from __future__ import annotations

import doctest
from datetime import timedelta
from typing import Any

import flambeau
import flambeau.distributed as dist
from flambeau import multiprocessing as mp

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
IN_GROUPS = ("flambeau.distributed", "flambeau.nn.parallel")
OF_TWO = "in each of two processes"
LIMIT = timedelta(seconds=30)


def size_of_group(test: doctest.DocTest) -> int:
    """The number of processes in whose group an example runs; 0: it needs none, or begins one."""
    if not test.name.startswith(IN_GROUPS):
        return 0
    text = "".join(example.source for example in test.examples)
    if "init_process_group(" in text:
        return 0
    return 2 if OF_TWO in text else 1


def run(test: doctest.DocTest) -> str:
    """What is wrong with an example, in any of its processes; nothing: it prints what it says."""
    size = size_of_group(test)
    if size < 2:
        return _run(test, 0, size, dist.HashStore())
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    context = mp.get_context("fork")
    said = context.SimpleQueue()
    other = context.Process(target=_rank_1, args=(test, store.port, said), daemon=True)
    other.start()
    try:
        wrong = _run(test, 0, size, store)
        other.join(LIMIT.total_seconds())
    finally:
        other.kill()
        other.join()
    return wrong + ("rank 1 ended without a word" if said.empty() else said.get())


def _rank_1(test: doctest.DocTest, port: int, said: Any) -> None:
    flambeau.set_num_threads(1)
    said.put(_run(test, 1, 2, dist.TCPStore("127.0.0.1", port, timeout=LIMIT)))


def _run(test: doctest.DocTest, rank: int, size: int, store: dist.Store) -> str:
    """Runs an example in a group, which is gone afterwards."""
    said: list[str] = []
    if size:
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=LIMIT)
    try:
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
        if not size and dist.is_initialized():
            said.append(f"{test.name} leaves a process group behind")
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return "".join(said)
