"""Collective calls and messages of several processes, compared with NumPy."""

from __future__ import annotations

import os
import signal
import time
import warnings
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from distributed_tools import joined, ranks

import flambeau
import flambeau.distributed as dist
from flambeau import Tensor
from flambeau import multiprocessing as mp

OPERATIONS: dict[str, Any] = {
    "SUM": lambda x: x.sum(0),
    "AVG": lambda x: x.mean(0),
    "PRODUCT": lambda x: x.prod(0),
    "MIN": lambda x: x.min(0),
    "MAX": lambda x: x.max(0),
    "BAND": np.bitwise_and.reduce,
    "BOR": np.bitwise_or.reduce,
    "BXOR": np.bitwise_xor.reduce,
}


def inputs(size: int, count: int, dtype: str) -> Any:
    """An array for each rank, the same in every process."""
    random = np.random.default_rng(count)
    if dtype.startswith("int"):
        return random.integers(1, 9, (size, count)).astype(dtype)
    values = random.uniform(0.5, 1.5, (size, count))
    if dtype.startswith("complex"):
        return (values + 1j * random.uniform(-1, 1, (size, count))).astype(dtype)
    return values.astype(dtype)


def _all_reduce(rank: int, size: int) -> list[Any]:
    answers = []
    for dtype in ("float64", "int64", "complex128"):
        for name in OPERATIONS:
            if not dist.supports_complex(getattr(dist.ReduceOp, name)) and "c" in dtype:
                continue
            if (name == "AVG" and dtype == "int64") or (name[0] == "B" and dtype != "int64"):
                continue
            for count in (0, 1, 7, 20011):
                given = flambeau.from_numpy(inputs(size, count, dtype)[rank].copy())
                dist.all_reduce(given, getattr(dist.ReduceOp, name))
                answers.append((dtype, name, count, given.numpy()))
    return answers


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_reduce(size: int) -> None:
    answers = ranks(size, _all_reduce)
    for of_ranks in zip(*answers, strict=True):
        dtype, name, count, found = of_ranks[0]
        if count:
            wanted = OPERATIONS[name](inputs(size, count, dtype))
            np.testing.assert_allclose(found, wanted, rtol=1e-13, err_msg=f"{dtype} {name}")
        for other in of_ranks[1:]:
            assert other[3].tobytes() == found.tobytes(), "ranks differ in a bit"


def _others(rank: int, size: int) -> dict[str, Any]:
    given = inputs(size, 12, "float32")
    mine = flambeau.from_numpy(given[rank].copy())
    answers: dict[str, Any] = {}
    outputs = [flambeau.empty(12) for _ in range(size)]
    dist.all_gather(outputs, mine)
    answers["all_gather"] = np.stack([part.numpy() for part in outputs])
    whole = flambeau.empty(size * 12)
    dist.all_gather_into_tensor(whole, mine)
    answers["all_gather_into_tensor"] = whole.numpy()
    for root in range(size):
        copy = mine.clone()
        dist.broadcast(copy, root)
        answers[f"broadcast {root}"] = copy.numpy()
        copy = mine.clone()
        dist.reduce(copy, root)
        answers[f"reduce {root}"] = copy.numpy()
        gathered = [flambeau.empty(12) for _ in range(size)] if rank == root else None
        dist.gather(mine, gathered, root)
        answers[f"gather {root}"] = gathered and np.stack([part.numpy() for part in gathered])
        part = flambeau.empty(12)
        dist.scatter(part, [mine + i for i in range(size)] if rank == root else None, root)
        answers[f"scatter {root}"] = part.numpy()
    part = flambeau.empty(12)
    dist.reduce_scatter(part, [mine * (i + 1) for i in range(size)])
    answers["reduce_scatter"] = part.numpy()
    part = flambeau.empty(2)
    dist.reduce_scatter_tensor(part, mine[: 2 * size].clone())
    answers["reduce_scatter_tensor"] = part.numpy()
    outputs = [flambeau.empty(i + 1) for i in range(size)]
    dist.all_to_all(outputs, [mine[: rank + 1] + i for i in range(size)])
    answers["all_to_all"] = [part.numpy() for part in outputs]
    rows = flambeau.empty(sum(range(1, size + 1)), 2)
    sent = flambeau.full((size * (rank + 1), 2), float(rank))
    dist.all_to_all_single(rows, sent, list(range(1, size + 1)), [rank + 1] * size)
    answers["all_to_all_single"] = rows.numpy()
    pair = [mine[:2].clone(), mine[2:6].view(2, 2).t()]
    dist.all_reduce_coalesced(pair)
    answers["coalesced"] = [part.numpy() for part in pair]
    dist.barrier()
    dist.monitored_barrier()
    return answers


@pytest.mark.parametrize("size", [2, 4])
def test_other_collectives(size: int) -> None:
    given = inputs(size, 12, "float32")
    for rank, found in enumerate(ranks(size, _others)):
        np.testing.assert_array_equal(found["all_gather"], given)
        np.testing.assert_array_equal(found["all_gather_into_tensor"], given.reshape(-1))
        for root in range(size):
            np.testing.assert_array_equal(found[f"broadcast {root}"], given[root])
            reduced = given.sum(0) if rank == root else given[rank]
            np.testing.assert_allclose(found[f"reduce {root}"], reduced, rtol=1e-6)
            if rank == root:
                np.testing.assert_array_equal(found[f"gather {root}"], given)
            else:
                assert found[f"gather {root}"] is None
            np.testing.assert_array_equal(found[f"scatter {root}"], given[root] + rank)
        np.testing.assert_allclose(found["reduce_scatter"], given.sum(0) * (rank + 1), rtol=1e-6)
        part = given.sum(0)[2 * rank : 2 * rank + 2]
        np.testing.assert_allclose(found["reduce_scatter_tensor"], part, rtol=1e-6)
        for i, come in enumerate(found["all_to_all"]):
            np.testing.assert_array_equal(come, given[i, : i + 1] + rank)
        rows = np.repeat(np.arange(size), np.arange(1, size + 1))
        np.testing.assert_array_equal(found["all_to_all_single"], np.stack([rows, rows], 1))
        np.testing.assert_allclose(found["coalesced"][0], given.sum(0)[:2], rtol=1e-6)
        crossed = given.sum(0)[2:6].reshape(2, 2).T
        np.testing.assert_allclose(found["coalesced"][1], crossed, rtol=1e-6)


def _background(rank: int, size: int) -> Any:
    tensors = [flambeau.full((n,), float(rank + 1)) for n in (3, 50000, 1, 9000)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    last = flambeau.ones(2)
    dist.all_reduce(last)  # after those, though the caller's own thread could do it
    assert all(work is not None and work.is_success() for work in works)
    factor = flambeau.tensor([2.0, 3.0])
    dist.all_reduce(factor, dist._make_nccl_premul_sum(rank + 1.0))
    half = flambeau.ones(70000, dtype=flambeau.bfloat16)
    dist.all_reduce(half)
    return [float(t.min()) for t in tensors], last.tolist(), factor.tolist(), float(half.min())


def test_calls_in_the_background_keep_their_order() -> None:
    for found in ranks(2, _background):
        assert found == ([3.0, 3.0, 3.0, 3.0], [2.0, 2.0], [6.0, 9.0], 2.0)


def _letters(rank: int, size: int) -> Any:
    if rank == 0:
        big = flambeau.arange(300000.0)
        dist.send(flambeau.tensor([1, 2]), 1, tag=7)
        dist.send(flambeau.tensor([3, 4]), 1, tag=8)
        works = [dist.isend(big, peer) for peer in (1, 2)]
        come = [flambeau.zeros(1) for _ in range(2)]
        senders = [dist.recv(one) for one in come]
        for work in works:
            assert work is not None and work.wait()
        return sorted(zip(senders, [one.item() for one in come], strict=True))
    answers: list[Any] = []
    if rank == 1:
        for tag in (8, 7):
            small = flambeau.zeros(2, dtype=flambeau.int64)
            dist.recv(small, 0, tag=tag)
            answers.append(small.tolist())
    big = flambeau.zeros(300000)
    work = dist.irecv(big, 0)
    assert work is not None and work.wait() and work.source_rank() == 0
    dist.send(flambeau.tensor([float(rank)]), 0)
    right, left = flambeau.full((3,), float(rank)), flambeau.zeros(3)
    other = 3 - rank
    operations = [dist.P2POp(dist.isend, right, other), dist.P2POp(dist.irecv, left, other)]
    for one in dist.batch_isend_irecv(operations):
        one.wait()
    return [*answers, bool((big == flambeau.arange(300000.0)).all()), left.tolist()]


def test_letters() -> None:
    first, second, third = ranks(3, _letters)
    assert first == [(1, 1.0), (2, 2.0)]
    assert second == [[3, 4], [1, 2], True, [2.0, 2.0, 2.0]]
    assert third == [True, [1.0, 1.0, 1.0]]


def _objects(rank: int, size: int) -> Any:
    everything: list[Any] = [None] * size
    dist.all_gather_object(everything, {"rank": rank, "list": "x" * rank})
    at_one: list[Any] | None = [None] * size if rank == 1 else None
    dist.gather_object((rank, rank * 2), at_one, 1)
    told = [rank, None] if rank else ["of 0", 3]
    dist.broadcast_object_list(told, 0)
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, [f"for {i}" for i in range(size)] if rank == 2 else None, 2)
    if rank == 0:
        dist.send_object_list([1, "two"], 1)
    elif rank == 1:
        come: list[Any] = [None, None]
        assert dist.recv_object_list(come, 0) == 0 and come == [1, "two"]
    return everything, at_one, told, mine


def test_objects() -> None:
    for rank, (everything, at_one, told, mine) in enumerate(ranks(3, _objects)):
        assert everything == [{"rank": i, "list": "x" * i} for i in range(3)]
        assert at_one == ([(0, 0), (1, 2), (2, 4)] if rank == 1 else None)
        assert told == ["of 0", 3]
        assert mine == [f"for {rank}"]


def _groups(rank: int, size: int) -> Any:
    pair = dist.new_group([1, 3])
    mine, every = dist.new_subgroups(2)
    x, y = flambeau.tensor([float(rank)]), flambeau.tensor([float(rank)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of processes outside the group
        assert dist.all_reduce(x, group=pair) is None
    dist.all_reduce(y, group=mine)
    if rank in (1, 3):
        assert dist.get_process_group_ranks(pair) == [1, 3]
        assert dist.get_group_rank(pair, 3) == 1 and dist.get_global_rank(pair, 0) == 1
        dist.broadcast(x, group=pair, group_src=0)
        assert dist.get_backend(pair) == "gloo"
        dist.destroy_process_group(pair)
        with pytest.raises(ValueError, match="destroyed"):
            dist.all_reduce(x, group=pair)
    alone = dist.new_group([rank], use_local_synchronization=True)
    assert dist.get_world_size(alone) == 1
    return dist.get_rank(mine), len(every), x.item(), y.item()


def test_groups() -> None:
    wanted = [(0, 2, 0.0, 1.0), (1, 2, 4.0, 1.0), (0, 2, 2.0, 5.0), (1, 2, 4.0, 5.0)]
    assert ranks(4, _groups) == wanted


def _different(rank: int, size: int) -> list[str]:
    texts = []

    def fails(call: Any, *args: Any) -> None:
        with pytest.raises(dist.DistBackendError) as caught:
            call(*args)
        texts.append(str(caught.value))

    fails(dist.all_reduce, flambeau.zeros(4 if rank == 1 else 3))
    fails(
        dist.all_reduce, flambeau.zeros(90000, dtype=[flambeau.float32, flambeau.float64][rank % 2])
    )
    fails(dist.all_reduce if rank else dist.reduce, flambeau.zeros(3), *([] if rank else [0]))
    x = flambeau.ones(2)
    dist.all_reduce(x)  # the group still works
    assert x.tolist() == [size, size]
    return texts


def test_calls_that_differ_are_named_on_all_ranks() -> None:
    for shapes, dtypes, names in ranks(3, _different):
        assert shapes.startswith("all_reduce: ") and "[4]" in shapes and "[3]" in shapes
        assert "float32 [90000]" in dtypes and "float64 [90000]" in dtypes
        assert "all_reduce(SUM" in names and "reduce(SUM, dst 0" in names


def _late(rank: int, size: int) -> str:
    if rank == 1:
        time.sleep(1.5)
        return ""
    with pytest.raises(dist.DistBackendError) as caught:
        dist.barrier(timeout=timedelta(seconds=0.3))
    work = dist.irecv(flambeau.zeros(1), 1)
    assert work is not None
    with pytest.raises(dist.DistBackendError, match="tag 0: none has come in time"):
        work.wait(timedelta(seconds=0.1))
    return str(caught.value)


def test_a_late_process_is_named() -> None:
    text = ranks(2, _late)[0]
    assert text.startswith("barrier: rank 0 waited 0.3 s for rank 1, which has sent nothing")


def _missing(rank: int, size: int) -> str:
    if rank:
        time.sleep(1)
        return ""
    with pytest.raises(RuntimeError) as caught:
        dist.monitored_barrier(timeout=timedelta(seconds=0.3), wait_all_ranks=True)
    return str(caught.value)


def test_a_monitored_barrier_names_who_is_missing() -> None:
    assert "Ranks 1, 2 failed to pass" in ranks(3, _missing)[0]


def _dies(rank: int, size: int, pipe: Any, before: int) -> None:
    for _ in range(before):
        dist.all_reduce(flambeau.zeros(100000))
    if rank == 1:
        if os.fork() == 0:
            # Such as workers of a DataLoader: they must not keep the connections open.
            time.sleep(4)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    try:
        dist.all_reduce(flambeau.zeros(100000))
    except dist.DistBackendError as error:
        pipe.put((rank, str(error), time.monotonic() - begin))


@pytest.mark.parametrize("before", [0, 3])
def test_a_process_that_dies_is_named_by_all(before: int) -> None:
    context = mp.get_context("fork")
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    said, answers = context.SimpleQueue(), context.SimpleQueue()
    given = 3, store.port, 60, _dies, answers, (said, before)
    processes = [context.Process(target=joined, args=(rank, *given)) for rank in range(3)]
    for process in processes:
        process.start()
    heard: dict[int, str] = {}
    end = time.monotonic() + 30
    while len(heard) < 2 and time.monotonic() < end:
        if said.empty():
            time.sleep(0.01)
            continue
        rank, text, seconds = said.get()
        heard[rank] = text
        assert seconds < 3.5  # while the child of rank 1 still lives
    for process in processes:
        process.join(30)
    assert sorted(heard) == [0, 2]
    for text in heard.values():
        assert text.startswith("all_reduce: ") and "rank 1 is gone" in text
    assert [process.exitcode for process in processes] == [0, -signal.SIGKILL, 0]


def _wrong(rank: int, size: int) -> None:
    x = flambeau.ones(3)
    for error, match, call in (
        (TypeError, "tensor must be a Tensor, got list", lambda: dist.all_reduce([x])),
        (TypeError, "op must be a ReduceOp", lambda: dist.all_reduce(x, "sum")),
        (RuntimeError, "BAND is of integers", lambda: dist.all_reduce(x, dist.ReduceOp.BAND)),
        (ValueError, "src 5 is not among", lambda: dist.broadcast(x, 5)),
        (ValueError, "this process itself", lambda: dist.send(x, rank)),
        (ValueError, r"each of the 2 ranks, got 1", lambda: dist.all_gather([x], x)),
        (ValueError, r"got int64 \[3\]", lambda: dist.all_gather([x, x.long()], x)),
        (ValueError, "2 times the elements", lambda: dist.all_gather_into_tensor(x, x)),
        (ValueError, "must be different", lambda: dist.new_group([0, 0])),
        (ValueError, "twice", lambda: dist.init_process_group("gloo")),
        (ValueError, "P2POp", lambda: dist.batch_isend_irecv([])),
        (RuntimeError, "must be dense", lambda: dist.all_reduce(x.to_sparse())),
        (RuntimeError, "is on meta", lambda: dist.all_reduce(x.to("meta"))),
        (ValueError, "split_sizes", lambda: dist.all_to_all_single(x, x, [1, 1], [2, 1])),
    ):
        with pytest.raises(error, match=match):
            call()
    dist.barrier()


def test_arguments_are_checked() -> None:
    ranks(2, _wrong)


def test_before_there_is_a_group() -> None:
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    assert dist.is_backend_available("gloo") and not dist.is_nccl_available()
    for call in (dist.get_rank, dist.get_world_size, dist.barrier):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    for name in ("nccl", "mpi", "ucc", "xccl"):
        with pytest.raises(RuntimeError, match=f"backend '{name}' is not available: .+"):
            dist.init_process_group(name, store=dist.HashStore(), rank=0, world_size=1)
    with pytest.raises(ValueError, match="unknown backend 'foo'"):
        dist.init_process_group("foo", store=dist.HashStore(), rank=0, world_size=1)
    with pytest.raises(ValueError, match="needs rank and world_size"):
        dist.init_process_group("gloo", store=dist.HashStore())
    with pytest.raises(RuntimeError, match="no rendezvous handler for xyz://"):
        dist.init_process_group("gloo", init_method="xyz://a")


def test_an_absent_process_is_named() -> None:
    with pytest.raises(dist.DistBackendError, match=r"waited 0.2 s for ranks \[1\] of 2"):
        dist.init_process_group(
            "gloo",
            store=dist.HashStore(),
            rank=0,
            world_size=2,
            timeout=timedelta(seconds=0.2),
        )
    assert not dist.is_initialized()


def test_writing_is_seen_by_autograd(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    dist.init_process_group(init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        x: Tensor = flambeau.ones(3, requires_grad=True)
        y = x * 1
        z = y.exp() * y
        dist.all_reduce(y)
        with pytest.raises(RuntimeError, match="modified|version"):
            z.sum().backward()
    finally:
        dist.destroy_process_group()


def _threads(rank: int, size: int) -> list[float]:
    """Threads that call in turn; which of them is next is the same on all ranks."""
    import threading

    sums = [0.0] * 40
    turn = threading.Condition()
    done = [0]

    def call(parity: int) -> None:
        for i in range(parity, 40, 2):
            with turn:
                assert turn.wait_for(lambda i=i: done[0] == i, 20)
            x = flambeau.full((3,), float(i * (rank + 1)))
            work = dist.all_reduce(x, async_op=True)
            with turn:
                done[0] += 1
                turn.notify_all()
            assert work is not None and work.wait()
            sums[i] = x[0].item()

    threads = [threading.Thread(target=call, args=(parity,)) for parity in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return sums


def test_calls_of_several_threads() -> None:
    for sums in ranks(2, _threads):
        assert sums == [3.0 * i for i in range(40)]
