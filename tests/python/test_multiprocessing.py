"""Tensors that cross processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from queue import Empty, Full
from typing import Any

import multiprocessing_tools as tools
import pytest

import flambeau
import flambeau.multiprocessing as mp
from flambeau import Tensor, nn

METHODS = ("fork", "spawn", "forkserver")


class Marked(Tensor):
    """A kind of tensor that the library does not know."""

    note: str


def through(obj: Any) -> Any:
    """What a receiver gets; it lives in this process."""
    queue = mp.get_context("fork").SimpleQueue()
    queue.put(obj)
    return queue.get()


def test_python_has_no_name_that_is_missing() -> None:
    missing = {name for name in multiprocessing.__all__ if not hasattr(mp, name)}
    assert missing <= {"set_spawning_popen"}, missing


# The examples of PyTorch's first release ----------------------------------------------------------


def test_processes_fill_what_a_queue_holds() -> None:
    queue = mp.Queue()
    buffers = [flambeau.zeros(2, 2) for _ in range(4)]
    for buffer in buffers:
        queue.put(buffer)
    processes = [mp.Process(target=tools.fill, args=(queue,)) for _ in range(10)]
    for process in processes:
        process.start()
    full = [[[10.0, 10.0], [10.0, 10.0]]] * 4
    assert tools.settled(lambda: [b.tolist() for b in buffers], full, 30) == full
    for process in processes:
        process.terminate()
        process.join()


def test_a_pool_fills_a_hundred_tensors() -> None:
    tensors = [flambeau.zeros(2, 2) for _ in range(100)]
    with mp.Pool(10) as pool:
        pool.map(tools.fill_pool, tensors)
        assert all(t.tolist() == [[10.0, 10.0], [10.0, 10.0]] for t in tensors)
        results = pool.map(tools.doubled, tensors)
    assert all(r.tolist() == [[20.0, 20.0], [20.0, 20.0]] for r in results)


# What arrives -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_both_sides_have_the_same_memory(method: str) -> None:
    context = mp.get_context(method)
    queue, answers = context.Queue(), context.Queue()
    shared = flambeau.zeros(100_000).share_memory_()
    parts = flambeau.zeros(4, 3).split(2)
    sent = flambeau.zeros(6)
    queue.put(sent)
    process = context.Process(target=tools.write_and_return, args=(queue, answers, shared, parts))
    process.start()
    come, (first, second) = answers.get()
    assert shared.sum().item() == 700_000
    assert sent.tolist() == [1.0, 0, 0, 0, 0, 0]
    assert come.untyped_storage() is sent.untyped_storage()
    # As arguments of a process that is forked they are copied with all of its memory.
    own = method != "fork"
    assert (first.untyped_storage() is parts[0].untyped_storage()) == own
    assert first.untyped_storage() is second.untyped_storage()
    assert first[0].tolist() == [5.0] * 3 and first.data_ptr() + 24 == second.data_ptr()
    queue.put(None)
    process.join()
    assert process.exitcode == 0


@pytest.mark.parametrize("size", [0, 1, 1000, 300_000])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex128", "bool", "int8"])
def test_tensors_arrive_as_they_are(dtype: str, size: int) -> None:
    x = flambeau.zeros(3, size, dtype=getattr(flambeau, dtype)).t()
    y = through({"x": [x, x[1:], x]})["x"]
    for got, expected in zip(y, (x, x[1:], x), strict=True):
        assert (got.dtype, got.shape, got.stride()) == (
            expected.dtype,
            expected.shape,
            expected.stride(),
        )
        assert got.untyped_storage() is x.untyped_storage() and got.is_shared()
        assert got.storage_offset() == expected.storage_offset()
    assert y[0] is y[2]


def test_what_hangs_on_a_tensor_arrives() -> None:
    weight = through(nn.Parameter(flambeau.ones(2), requires_grad=False))
    assert type(weight) is nn.Parameter and not weight.requires_grad
    leaf = through(flambeau.ones(2, requires_grad=True))
    assert leaf.requires_grad and leaf.is_leaf and type(leaf) is Tensor
    marked = Tensor._make_subclass(Marked, flambeau.arange(3))
    marked.note = "three"
    got = through(marked)
    assert type(got) is Marked and got.note == "three" and got.is_shared()
    assert got.data_ptr() == marked.data_ptr()
    storage = flambeau.arange(3).untyped_storage()
    assert through(storage) is storage and storage.is_shared()
    model = nn.Linear(2, 2)
    assert through(model).weight.data_ptr() == model.weight.data_ptr()


def test_a_result_of_an_operation_is_refused() -> None:
    queue = mp.Queue()
    weight = flambeau.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"requires grad and is the result .* send detach\(\)"):
        queue.put(weight * 2)
    queue.put((weight * 2).detach())
    assert queue.get().tolist() == [2.0, 2.0]


def test_memory_that_must_stay_is_copied() -> None:
    x = flambeau.arange(4.0)
    array = x.numpy()
    first, second = through((x, x[1:]))
    assert not x.is_shared() and first.untyped_storage() is second.untyped_storage()
    assert first.is_shared() and first.tolist() == [0.0, 1.0, 2.0, 3.0]
    array[0] = 5
    assert x[0].item() == 5 and first[0].item() == 0


def test_tensors_without_memory_of_the_cpu() -> None:
    got = through(flambeau.empty(3, 4, device="meta"))
    assert got.is_meta and got.shape == (3, 4)


# Channels -----------------------------------------------------------------------------------------


def test_pipes_carry_many_tensors_beside_bytes() -> None:
    here, there = mp.Pipe()
    process = mp.get_context("fork").Process(target=tools.echo, args=(there,))
    process.start()
    large = [flambeau.full((40_000,), float(i)) for i in range(450)]
    before = tools.descriptors()
    for payload in (b"", bytes(30), bytes(70_000), bytes(2_000_000)):
        here.send((payload, large))
        got, tensors = here.recv()
        assert got == payload
        pairs = zip(tensors, large, strict=True)
        assert all(a.untyped_storage() is b.untyped_storage() for a, b in pairs)
    del tensors
    assert tools.descriptors() == before + 450
    here.send(None)
    process.join()
    assert process.exitcode == 0
    there.close()
    with pytest.raises(EOFError):
        here.recv()
    here.close()
    with pytest.raises(OSError, match="closed"):
        here.send(1)


def test_bytes_and_objects_share_a_pipe() -> None:
    receiving, sending = mp.Pipe(duplex=False)
    with pytest.raises(OSError, match="read-only"):
        receiving.send(1)
    with pytest.raises(OSError, match="write-only"):
        sending.recv()
    before = tools.descriptors()
    sending.send_bytes(b"plain")
    sending.send(flambeau.zeros(50_000))
    sending.send(flambeau.ones(3))
    assert receiving.poll() and receiving.recv_bytes() == b"plain"
    # Whoever takes a message as bytes has no use for its descriptors.
    assert len(receiving.recv_bytes()) > 10 and tools.descriptors() <= before + 1
    assert receiving.recv().tolist() == [1.0] * 3
    assert not receiving.poll()


def test_queues_keep_their_promises() -> None:
    queue = mp.Queue(1)
    with pytest.raises(Empty):
        queue.get(timeout=0.05)
    with pytest.raises(Empty):
        queue.get_nowait()
    queue.put(flambeau.ones(1))
    with pytest.raises(Full):
        queue.put_nowait(1)
    assert queue.get(timeout=10).item() == 1
    with pytest.raises((pickle.PicklingError, AttributeError), match="pickle"):
        queue.put(lambda: 1)
    queue.close()
    with pytest.raises(ValueError, match="closed"):
        queue.get()
    joinable = mp.JoinableQueue()
    joinable.put(flambeau.zeros(3))
    assert joinable.get().shape == (3,)
    joinable.task_done()
    joinable.join()


def test_what_a_process_has_put_outlives_it() -> None:
    queue = mp.Queue()
    tensor = flambeau.arange(100_000)
    process = mp.get_context("fork").Process(target=tools.put_and_exit, args=(queue, tensor))
    process.start()
    process.join()
    assert queue.get().equal(tensor)


def test_pythons_own_queues_fetch_from_the_sender() -> None:
    queue = multiprocessing.get_context("fork").SimpleQueue()
    x = flambeau.arange(100_000.0)
    before = tools.descriptors()
    for _ in range(20):
        queue.put((x, x[5:]))
        whole, part = queue.get()
        assert whole.untyped_storage() is part.untyped_storage() is x.untyped_storage()
    assert tools.descriptors() <= before + 5  # the server of multiprocessing
    data = bytes(ForkingPickler.dumps(flambeau.ones(3)))
    assert pickle.loads(data).tolist() == [1.0] * 3


def _put_and_die(queue: Any) -> None:
    queue.put(flambeau.ones(3))
    os._exit(0)


def test_a_sender_that_is_gone_is_named() -> None:
    queue = multiprocessing.get_context("fork").SimpleQueue()
    process = multiprocessing.get_context("fork").Process(target=_put_and_die, args=(queue,))
    process.start()
    process.join()
    with pytest.raises(RuntimeError, match=f"process {process.pid}, which sent it, has ended"):
        queue.get()


def test_a_message_in_the_wrong_channel_says_so() -> None:
    from flambeau.multiprocessing.parcels import pack

    data = pickle.dumps(pickle.loads(pickle.dumps(bytes(pack(flambeau.ones(3)).data))))
    with pytest.raises(RuntimeError, match="has come through another"):
        pickle.loads(pickle.loads(data))


# Training together --------------------------------------------------------------------------------


def test_processes_train_a_model_that_they_share() -> None:
    x, y = tools.regression()
    alone = tools.curve_model()
    tools.train(alone, 1500, seed=0)
    expected = nn.functional.mse_loss(alone(x), y).item()
    model = tools.curve_model().share_memory()
    start = nn.functional.mse_loss(model(x), y).item()
    context = mp.get_context("fork")
    workers = [context.Process(target=tools.train, args=(model, 750, seed)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    loss = nn.functional.mse_loss(model(x), y).item()
    assert expected < start / 10 and loss < expected * 1.5 + 1e-4


# Nothing is left behind ---------------------------------------------------------------------------


def held() -> tuple[int, int]:
    """Open files and bytes of shared memory, without what only waits to be collected."""
    gc.collect()
    return tools.descriptors(), tools.shared_bytes()


def test_ten_thousand_messages_leave_nothing() -> None:
    context = mp.get_context("fork")
    kept = flambeau.zeros(3).share_memory_()
    before = held()
    queue, answers = context.Queue(), context.SimpleQueue()
    process = context.Process(target=tools.swallow, args=(queue, answers))
    process.start()
    for i in range(10_000):
        queue.put((kept, flambeau.full((1000 if i % 10 else 40_000,), float(i))))
    queue.put(None)
    assert answers.get() == 10_000
    process.join()
    process.close()
    queue.close()
    queue.join_thread()
    answers.close()
    del queue, answers, process
    files, memory = held()
    # Small storages come from another slab now; the first one is full, and `kept` lies on it.
    assert files <= before[0] + 1 and memory <= before[1] + 2 * (4 << 20)


def killed_at_random(times: int, seed: int) -> None:
    """Processes that hold tensors are killed; what they held must go, and the sender live on."""
    chance = random.Random(seed)
    context = mp.get_context("fork")
    kept = flambeau.arange(50_000).share_memory_(), flambeau.zeros(3).share_memory_()
    before = held()
    for _ in range(times):
        queue, answers = context.Queue(), context.Queue()
        queue._ignore_epipe = True  # the thread that fills it ends then, and says nothing
        process = context.Process(target=tools.hold, args=(queue, answers))
        process.start()
        end = time.monotonic() + chance.uniform(0.005, 0.05)
        while time.monotonic() < end:
            queue.put((kept[0], flambeau.zeros(40_000), flambeau.ones(10)))
            while not answers.empty() and chance.random() < 0.8:
                answers.get()[0][0] += 1
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        process.close()
        # Nobody reads what waits in the pipes.
        for channel in (queue, answers):
            channel._reader.close()
            channel.close()
            channel.join_thread()
            channel._writer.close()
        del queue, answers, channel
    files, memory = held()
    assert files <= before[0] + 1 and memory <= before[1] + (4 << 20)
    assert kept[0][1].item() == 1


def test_killed_processes_leave_nothing() -> None:
    killed_at_random(10, seed=0)


def test_few_open_files_are_enough_for_small_tensors() -> None:
    program = (
        "import flambeau, flambeau.multiprocessing as mp, multiprocessing_tools as tools\n"
        "small = [flambeau.zeros(100) for _ in range(1000)]\n"
        "with mp.get_context('fork').Pool(4) as pool:\n"
        "    results = pool.map(tools.doubled, small)\n"
        "    pool.map(tools.fill_pool, small)\n"
        "assert all(t.sum() == 1000 for t in small) and all(t.sum() == 0 for t in results)\n"
        "queue = mp.Queue()\n"
        "for tensor in small: queue.put(tensor)\n"
        "assert all(queue.get().data_ptr() == t.data_ptr() for t in small)\n"
    )
    run = subprocess.run(
        ["bash", "-c", 'ulimit -n 64 && exec "$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])},
    )
    assert run.returncode == 0, run.stderr


def test_a_receiver_says_when_it_may_open_no_more_files() -> None:
    here, there = mp.Pipe()
    process = mp.get_context("fork").Process(target=tools.receive_with_few_files, args=(there,))
    process.start()
    here.send([flambeau.zeros(50_000) for _ in range(30)])
    error = here.recv()
    assert "of 30 descriptors of shared memory were lost" in error and "RLIMIT_NOFILE" in error
    here.send(flambeau.ones(50_000))
    assert here.recv() == 50_000
    process.join()


# Starting processes -------------------------------------------------------------------------------


def test_spawn_runs_a_function_in_every_process() -> None:
    x = flambeau.zeros(3).share_memory_()
    assert mp.spawn(tools.add_index, args=(x,), nprocs=3) is None
    assert x.tolist() == [0.0, 1.0, 2.0]
    context = mp.start_processes(
        tools.add_index, args=(x,), nprocs=3, join=False, start_method="fork"
    )
    assert context is not None and len(context.pids()) == 3
    while not context.join(timeout=5):
        pass
    assert x.tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("text", ["a reason", "a long reason " * 20_000])
def test_an_exception_of_a_process_is_raised(text: str) -> None:
    start, others = time.monotonic(), set(multiprocessing.active_children())
    with pytest.raises(mp.ProcessRaisedException) as raised:
        mp.start_processes(tools.raise_in_one, args=(1, text), nprocs=3, start_method="fork")
    assert time.monotonic() - start < 20 and set(multiprocessing.active_children()) <= others
    assert raised.value.error_index == 1 and raised.value.pid > 0
    assert f"ValueError: {text}" in str(raised.value) and "raise_in_one" in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_an_exit_of_a_process_is_raised() -> None:
    start, others = time.monotonic(), set(multiprocessing.active_children())
    with pytest.raises(mp.ProcessExitedException, match="exited with code 3") as exited:
        mp.start_processes(tools.exit_in_one, args=(3,), nprocs=2, start_method="fork")
    assert (exited.value.exit_code, exited.value.signal_name) == (3, None)
    with pytest.raises(mp.ProcessExitedException, match="signal SIGKILL") as killed:
        mp.start_processes(tools.killed_in_one, nprocs=2, start_method="fork")
    assert (killed.value.exit_code, killed.value.signal_name) == (-9, "SIGKILL")
    assert pickle.loads(pickle.dumps(killed.value)).exit_code == -9
    # The others slept, and are ended.
    assert time.monotonic() - start < 20 and set(multiprocessing.active_children()) <= others


def test_start_methods_and_strategies_by_name() -> None:
    assert mp.get_context().get_start_method() == multiprocessing.get_start_method()
    assert mp.get_context("spawn").get_context("fork").get_start_method() == "fork"
    with pytest.raises(ValueError, match="cannot find context"):
        mp.get_context("swap")
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_system")
    assert through(flambeau.ones(2)).is_shared() and mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(ValueError, match="expected one of"):
        mp.set_sharing_strategy("names")


if __name__ == "__main__":
    killed_at_random(int(sys.argv[1]), seed=1)
    print(f"killed {sys.argv[1]} processes; nothing is left")
