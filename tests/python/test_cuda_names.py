"""Names of `cuda` on machines without a device: questions have answers, the rest says why not."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import cuda

WITHOUT = pytest.mark.skipif(cuda.is_available(), reason="there is a device of CUDA")


@WITHOUT
def test_questions_have_answers() -> None:
    assert cuda.get_arch_list() == [] and cuda.get_gencode_flags() == ""
    assert cuda.is_tf32_supported() is False
    assert (cuda.has_half, cuda.has_magma, cuda.default_generators) == (True, False, ())
    assert cuda.host_memory_stats() == {}
    assert cuda.get_allocator_backend() == "native"
    assert cuda.get_per_process_memory_fraction() == 1.0
    assert cuda.get_sync_debug_mode() == 0
    cuda.reset_accumulated_memory_stats()
    cuda.reset_peak_host_memory_stats()
    cuda.reset_accumulated_host_memory_stats()


def test_what_is_so_in_any_case_may_be_asked_for() -> None:
    cuda.caching_allocator_enable()
    cuda.set_per_process_memory_fraction(1)
    cuda.set_sync_debug_mode("default")
    with cuda.device_of(flambeau.ones(2)):
        pass


@WITHOUT
def test_a_summary_has_a_line_for_each_count() -> None:
    lines = cuda.memory_summary().splitlines()
    assert lines[0] == "CUDA memory of no device"
    assert len(lines) == 1 + len(cuda.memory_stats())
    assert all(line.endswith(" 0") for line in lines[1:])
    assert cuda.memory_summary(abbreviated=True).splitlines() == lines[:3]


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("memory_cached", "memory_reserved"),
        ("max_memory_cached", "max_memory_reserved"),
        ("reset_max_memory_allocated", "reset_peak_memory_stats"),
        ("reset_max_memory_cached", "reset_peak_memory_stats"),
    ],
)
def test_former_names(name: str, now: str) -> None:
    with pytest.warns(FutureWarning, match=f"cuda.{name} is now called cuda.{now}"):
        found = getattr(cuda, name)()
    assert found == getattr(cuda, now)()


def _enter(context: contextlib.AbstractContextManager[Any]) -> None:
    with context:
        pass


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cuda.CUDAPluggableAllocator("a.so", "get", "free"), "own allocator"),
        (lambda: cuda.MemPool(), "own allocator"),
        (lambda: _enter(cuda.use_mem_pool(None)), "own allocator"),
        (lambda: cuda.change_current_allocator(None), "own allocator"),
        (lambda: _enter(cuda.caching_allocator_disabled()), "always cached"),
        (lambda: cuda.caching_allocator_enable(False), "always cached"),
        (lambda: cuda.memory_snapshot(), "does not list"),
        (lambda: cuda.set_per_process_memory_fraction(0.5), "no limits"),
        (lambda: cuda.set_sync_debug_mode("warn"), "not observed"),
        (lambda: cuda.current_blas_handle(), "without cuBLAS"),
        (lambda: cuda.current_solver_handle(), "cuSOLVER"),
        (lambda: cuda.cudart(), "part of the backend"),
        (lambda: cuda.GreenContext.create(4), "all multiprocessors"),
        (lambda: cuda.graph_pool_handle(), "does not record"),
        (lambda: cuda.make_graphed_callables(abs, ()), "does not record"),
    ],
)
def test_what_there_is_not_says_why(call: Callable[[], object], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cuda.set_per_process_memory_fraction(1.5), "from 0 to 1, got 1.5"),
        (lambda: cuda.set_sync_debug_mode("loud"), "default, warn, error.*got 'loud'"),
        (lambda: cuda.caching_allocator_alloc(-1), "must not be negative, got -1"),
        (lambda: cuda.caching_allocator_delete(12), "no block begins at 12"),
    ],
)
def test_wrong_arguments(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(_has_driver(), reason="there is a driver of CUDA")
@pytest.mark.parametrize(
    "name", ["utilization", "memory_usage", "temperature", "power_draw", "clock_rate"]
)
def test_the_driver_is_asked(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"libcuda\.so\.1, of its driver, is not there"):
        getattr(cuda, name)(0)


@pytest.mark.skipif(_has_driver(), reason="there is a driver of CUDA")
def test_an_error_of_cuda_is_raised() -> None:
    cuda.check_error(0)
    with pytest.raises(RuntimeError, match="is not there"):
        cuda.check_error(2)


NUMBERS = {"Temperature": 41, "PowerUsage": 90_000, "ClockInfo": 1_980}


class Driver:
    """A driver of one device, whose numbers are made up; it notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[object, ...]]] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        def answer(*arguments: Any) -> int:
            self.asked.append((name, arguments))
            target = getattr(arguments[-1], "_obj", None)
            for word, number in NUMBERS.items():
                if name == f"nvmlDeviceGet{word}":
                    target.value = number
            if name == "nvmlDeviceGetUtilizationRates":
                target.gpu, target.memory = 75, 20
            if name == "nvmlDeviceGetMemoryInfo":
                target.total, target.free, target.used = 100, 30, 70
            if name == "nvmlDeviceGetComputeRunningProcesses_v3":
                arguments[1]._obj.value = 1
                arguments[2][0].pid, arguments[2][0].used = 1234, 3 << 20
            if name == "cuDeviceCanAccessPeer":
                arguments[0]._obj.value = 1
            if name == "cuGetErrorName":
                target.value = b"CUDA_ERROR_OUT_OF_MEMORY"
            return 0

        return answer


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr("flambeau.cuda.hardware._loaded", lambda *_: made)
    return made


def test_what_the_driver_says_is_handed_on(driver: Driver) -> None:
    assert (cuda.utilization(0), cuda.memory_usage(0)) == (75, 20)
    assert (cuda.temperature(0), cuda.power_draw(0), cuda.clock_rate(0)) == (41, 90_000, 1_980)
    assert cuda.device_memory_used(0) == 70
    assert cuda.can_device_access_peer(0, 1) is True
    lines = cuda.list_gpu_processes(0).splitlines()
    assert lines[0] == "GPU:0" and "1234" in lines[1] and "3.000 MB" in lines[1]
    with pytest.raises(RuntimeError, match="error 2: CUDA_ERROR_OUT_OF_MEMORY"):
        cuda.check_error(2)


def test_a_device_is_found_by_its_place_on_the_bus(driver: Driver) -> None:
    cuda.temperature(3)
    names = [name for name, _ in driver.asked]
    assert names == [
        "cuDeviceGet",
        "cuDeviceGetPCIBusId",
        "nvmlDeviceGetHandleByPciBusId_v2",
        "nvmlDeviceGetTemperature",
    ]
    assert driver.asked[0][1][1] == 3


@WITHOUT
def test_streams_of_others_need_a_device() -> None:
    for make in (cuda.ExternalStream, cuda.get_stream_from_external):
        with pytest.raises(RuntimeError, match="CUDA is not available"):
            make(0)


def test_named_ranges_are_in_profiles() -> None:
    from flambeau.cuda import nvtx

    with flambeau.profiler.profile() as report:
        assert nvtx.range_push("outer") == 0
        with nvtx.range("step {}", 3):
            assert nvtx.range_push("inner") == 2
            nvtx.mark("point")
            assert nvtx.range_pop() == 2
        assert nvtx.range_pop() == 0
    keys = [event.key for event in report.key_averages()]
    assert {"outer", "step 3", "inner", "point"} <= set(keys)
    with pytest.raises(RuntimeError, match="has begun no range"):
        nvtx.range_pop()


def test_tensors_sent_between_devices() -> None:
    from flambeau.cuda import comm

    x = flambeau.arange(6).view(3, 2)
    assert [one.tolist() for one in comm.broadcast(x, ["cpu", "cpu"])] == [x.tolist()] * 2
    lists = comm.broadcast_coalesced([x, x + 1], ["cpu", "cpu"])
    assert [[one.sum() for one in row] for row in lists] == [[15, 21]] * 2
    parts = comm.scatter(x, ["cpu", "cpu"], chunk_sizes=[1, 2])
    assert [part.tolist() for part in parts] == [[[0, 1]], [[2, 3], [4, 5]]]
    assert [part.shape for part in comm.scatter(x, ["cpu", "cpu"], dim=1)] == [(3, 1)] * 2
    assert comm.gather(parts, destination="cpu").equal(x)
    total = comm.reduce_add([x, x], "cpu")
    assert total.equal(2 * x) and x[2, 1] == 5
    rows = comm.reduce_add_coalesced([[x, x + 1], [x, x]])
    assert rows[0].equal(2 * x) and rows[1].equal(2 * x + 1)
    outs = [flambeau.zeros(1, 2), flambeau.zeros(2, 2)]
    comm.scatter(x.float(), out=outs)
    assert outs[1].tolist() == [[2, 3], [4, 5]]
    joined = flambeau.zeros(3, 2, dtype=flambeau.int64)
    assert comm.gather(parts, out=joined) is joined and joined.equal(x)
    copies = [flambeau.zeros(3, 2)]
    assert comm.broadcast(x, out=copies)[0].tolist() == x.tolist()


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (RuntimeError, "one of devices and out", lambda c: c.broadcast(flambeau.ones(2))),
        (RuntimeError, "one of devices and out", lambda c: c.scatter(flambeau.ones(2))),
        (ValueError, "2 devices, got 1", lambda c: c.scatter(flambeau.ones(2), ["cpu"] * 2, [2])),
        (ValueError, "one shape", lambda c: c.reduce_add([flambeau.ones(2), flambeau.ones(1)])),
        (ValueError, "one shape", lambda c: c.reduce_add([])),
    ],
)
def test_what_cannot_be_sent(error: Any, words: str, call: Callable[[Any], Any]) -> None:
    from flambeau.cuda import comm

    with pytest.raises(error, match=words):
        call(comm)
