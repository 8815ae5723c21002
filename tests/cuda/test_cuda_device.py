"""Devices, memory, streams and events."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import flambeau
from flambeau import cuda

MIB = 1 << 20


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    gc.collect()
    cuda.synchronize()
    cuda.empty_cache()
    yield
    cuda.synchronize()


def test_device_names() -> None:
    assert cuda.device_count() >= 1
    assert 0 <= cuda.current_device() < cuda.device_count()
    properties = cuda.get_device_properties(0)
    assert properties.name == cuda.get_device_name(0)
    assert properties.total_memory > 0
    assert properties.multi_processor_count > 0
    assert cuda.get_device_capability("cuda:0") == (properties.major, properties.minor)


def test_index_is_resolved() -> None:
    tensor = flambeau.zeros(3, device="cuda")
    assert str(tensor.device) == f"cuda:{cuda.current_device()}"


def test_missing_device_is_named() -> None:
    count = cuda.device_count()
    with pytest.raises(RuntimeError, match=f"cuda:{count} does not exist"):
        flambeau.zeros(3, device=f"cuda:{count}")
    with pytest.raises(RuntimeError, match="does not exist"):
        cuda.set_device(count)


def test_statistics_follow_tensors() -> None:
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    tensor = flambeau.zeros(4 * MIB, dtype=flambeau.uint8, device="cuda")
    assert cuda.memory_allocated() - before == 4 * MIB
    assert cuda.max_memory_allocated() - before >= 4 * MIB
    assert cuda.memory_reserved() >= cuda.memory_allocated()
    del tensor
    assert cuda.memory_allocated() == before
    assert cuda.max_memory_allocated() - before >= 4 * MIB


def test_freed_memory_is_reused() -> None:
    first = flambeau.zeros(8 * MIB, dtype=flambeau.uint8, device="cuda")
    place = first.data_ptr()
    asked = cuda.memory_stats()["system_allocations"]
    del first
    second = flambeau.zeros(8 * MIB, dtype=flambeau.uint8, device="cuda")
    assert second.data_ptr() == place
    assert cuda.memory_stats()["system_allocations"] == asked


def test_empty_cache_gives_memory_back() -> None:
    tensor = flambeau.zeros(64 * MIB, dtype=flambeau.uint8, device="cuda")
    reserved = cuda.memory_reserved()
    del tensor
    assert cuda.memory_reserved() == reserved
    cuda.empty_cache()
    assert cuda.memory_reserved() <= reserved - 64 * MIB


def test_blocks_do_not_overlap() -> None:
    rng = np.random.default_rng(0)
    held: list[tuple[flambeau.Tensor, int]] = []
    for step in range(400):
        if held and rng.random() < 0.45:
            tensor, value = held.pop(int(rng.integers(len(held))))
            assert bool((tensor == value).all())
        else:
            size = int(2 ** rng.uniform(0, 22))
            tensor = flambeau.full((size,), step % 251, dtype=flambeau.uint8, device="cuda")
            held.append((tensor, step % 251))
    for tensor, value in held:
        assert bool((tensor == value).all())


def test_out_of_memory_states_the_numbers() -> None:
    _, total = cuda.mem_get_info()
    with pytest.raises(flambeau.OutOfMemoryError, match="requested.*free.*reserved"):
        flambeau.empty(4 * total, dtype=flambeau.uint8, device="cuda")
    assert float(flambeau.ones(3, device="cuda").sum()) == 3.0


def test_stream_runs_in_order_and_keeps_memory() -> None:
    stream = cuda.Stream()
    x = flambeau.ones(1 << 22, device="cuda")
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        assert cuda.current_stream() == stream
        y = x
        for _ in range(20):
            y = y + 1
    stream.record_stream(x)
    del x
    other = flambeau.full((1 << 22,), -7.0, device="cuda")
    cuda.current_stream().wait_stream(stream)
    assert float(y.max()) == 21.0
    assert float(y.min()) == 21.0
    assert float(other.max()) == -7.0
    assert cuda.current_stream() == cuda.default_stream()


def test_events_measure_time() -> None:
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    x = flambeau.ones(1 << 16, device="cuda")
    start.record()
    for _ in range(10):
        x = x + 1
    end.record()
    end.synchronize()
    assert end.query()
    assert 0 < start.elapsed_time(end) < 10_000


def test_streams_and_events_of_former_calls() -> None:
    stream = cuda.Stream()
    with cuda.stream(stream):
        x = flambeau.ones(1 << 20, device="cuda") * 3
    event = stream.record_event()
    event.wait()
    assert float(x.sum()) == 3 << 20
    stream.synchronize()
    assert stream.query()
    outside = cuda.ExternalStream(stream.cuda_stream)
    assert outside == stream == cuda.get_stream_from_external(stream.cuda_stream)
    with pytest.raises(RuntimeError, match="not shared"):
        event.ipc_handle()


def test_blocks_by_address() -> None:
    before = cuda.memory_allocated()
    address = cuda.caching_allocator_alloc(1 << 20)
    assert cuda.memory_allocated() >= before + (1 << 20)
    cuda.caching_allocator_delete(address)
    assert cuda.memory_allocated() == before
    with pytest.raises(ValueError, match="no block begins"):
        cuda.caching_allocator_delete(address)


def test_counts_begin_again() -> None:
    flambeau.empty(10, device="cuda")
    assert cuda.memory_stats()["allocations"] > 0
    cuda.reset_accumulated_memory_stats()
    assert cuda.memory_stats()["allocations"] == 0
    flambeau.empty(10, device="cuda")
    assert cuda.memory_stats()["allocations"] == 1


@pytest.mark.hardware
def test_what_the_driver_knows() -> None:
    major, minor = cuda.get_device_capability()
    assert f"sm_{major}{minor}" in cuda.get_arch_list()
    assert f"compute_{major}{minor}" in cuda.get_gencode_flags()
    assert 0 <= cuda.utilization() <= 100 and 0 <= cuda.memory_usage() <= 100
    assert 0 < cuda.temperature() < 120
    assert cuda.power_draw() > 1000 and cuda.clock_rate() > 0
    _, total = cuda.mem_get_info()
    assert 0 < cuda.device_memory_used() <= total
    assert cuda.list_gpu_processes().startswith(f"GPU:{cuda.current_device()}\n")
    with pytest.raises(RuntimeError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        cuda.check_error(2)
