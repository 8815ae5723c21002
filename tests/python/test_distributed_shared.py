"""Collective calls over memory that processes of one machine share."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pytest
from distributed_tools import ranks

import flambeau
import flambeau.distributed as dist
from flambeau.distributed.board import ROOM
from flambeau.distributed.world import member

COUNTS = [0, 1, 5, 4097, 2 * ROOM // 4 + 3]
"""Of one turn, of two, of several pieces."""


def _collectives(rank: int, size: int) -> Any:
    found: list[Any] = []
    random = np.random.default_rng(rank)
    for count in COUNTS:
        mine = flambeau.from_numpy(random.standard_normal(count).astype(np.float32))
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
            x = mine.clone()
            dist.all_reduce(x, op)
            found.append(x.numpy())
        x = mine.clone()
        dist.broadcast(x, 1)
        found.append(x.numpy())
        everyone = [flambeau.empty(count) for _ in range(size)]
        dist.all_gather(everyone, mine)
        found.append(flambeau.stack(everyone).numpy())
        parts, x = [mine + i for i in range(size)], flambeau.empty(count)
        dist.reduce_scatter(x, parts)
        found.append(x.numpy())
        dist.barrier()
    board = member()._shared.board  # type: ignore[union-attr]
    return board is not None, found


def test_results_are_those_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = ranks(3, _collectives)
    monkeypatch.setenv("FLAMBEAU_DISTRIBUTED_SHARED", "0")
    sent = ranks(3, _collectives)
    assert [by_memory for by_memory, _ in shared] == [True] * 3
    assert [by_memory for by_memory, _ in sent] == [False] * 3
    for rank in range(3):
        for mine, other in zip(shared[rank][1], sent[rank][1], strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
    for place in range(5):  # the same bits on all ranks
        for i in range(0, 6 * len(COUNTS), 6):
            first = shared[0][1][i + place]
            assert all(np.array_equal(first, found[i + place]) for _, found in shared)


def _differing(rank: int, size: int) -> Any:
    x = flambeau.ones(3)
    dist.all_reduce(x)
    said = []
    for step in range(3):
        try:
            if rank == step:
                dist.broadcast(x, 0)
            elif step == 2 or rank == (step + 1) % size:
                dist.all_reduce(x)
            else:
                dist.gather(x, dst=rank, gather_list=[flambeau.empty(3) for _ in range(size)])
        except RuntimeError as error:
            said.append(str(error))
        dist.barrier()
    x.fill_(rank)
    dist.all_reduce(x)
    return said, x.tolist()


def test_calls_that_differ_are_named_and_later_ones_are_right() -> None:
    begin = time.monotonic()
    for said, x in ranks(3, _differing):
        assert len(said) == 3
        for text in said:
            assert "the ranks call different things" in text, text
        assert x == [3.0] * 3
    assert time.monotonic() - begin < 10


def _leaving(rank: int, size: int) -> Any:
    """The last call is complete on all ranks, though some leave at once."""
    x = flambeau.full((5,), rank)
    dist.all_reduce(x)
    if rank:
        time.sleep(0.1)
    dist.broadcast(x, 0)
    return x.tolist()


def test_ranks_may_leave_at_different_times() -> None:
    assert ranks(3, _leaving) == [[3] * 5] * 3


def test_no_file_stays() -> None:
    before = set(os.listdir("/dev/shm"))
    ranks(2, _leaving)
    assert not {name for name in set(os.listdir("/dev/shm")) - before if "flambeau" in name}


def _late(rank: int, size: int) -> Any:
    x = flambeau.ones(3)
    dist.all_reduce(x)
    if rank == 1:
        time.sleep(1.5)
    said = ""
    try:
        dist.all_reduce(x)
    except RuntimeError as error:
        said = str(error)
    if rank == 0:
        time.sleep(1)
    x.fill_(rank + 1.0)
    dist.all_reduce(x)
    return said, x.tolist()


def test_a_late_process_is_named() -> None:
    first, second = ranks(2, _late, seconds=1)
    assert "all_reduce: rank 0 waited 1 s for rank 1" in first[0]
    assert first[1] == second[1] == [3.0] * 3


def _asking_for_a_factor(rank: int, size: int) -> Any:
    x = flambeau.ones(4)
    dist.all_reduce(x, dist._make_nccl_premul_sum(float(rank + 2)))
    return x.tolist()


def test_factors() -> None:
    assert ranks(2, _asking_for_a_factor) == [[5.0] * 4] * 2
