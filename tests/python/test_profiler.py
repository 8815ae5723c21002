"""flambeau.profiler: what is counted, how calls nest, what memory they take, files."""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

import flambeau
from flambeau.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def names(prof: profile) -> Counter[str]:
    return Counter(event.name for event in prof.events())


def test_calls_are_counted_by_name() -> None:
    x = flambeau.ones(3, 4)
    with profile() as prof:
        for _ in range(5):
            (x * 2).relu_()
        flambeau.add(x, x, out=flambeau.empty(3, 4))
    assert {
        name: count for name, count in names(prof).items() if name in ("aten::mul", "aten::relu_")
    } == {
        "aten::mul": 5,
        "aten::relu_": 5,
    }
    # A test before this one may have left classes behind that are asked of every operator: then
    # the form that writes calls the one that does not.
    outer = [e for e in prof.events() if e.name == "aten::add" and e.cpu_parent is None]
    assert len(outer) == 1
    averages = {average.key: average for average in prof.key_averages()}
    assert averages["aten::mul"].count == 5
    mul = [event.cpu_time_total for event in prof.events() if event.name == "aten::mul"]
    assert averages["aten::mul"].cpu_time_total == pytest.approx(sum(mul))
    assert averages["aten::mul"].cpu_time == pytest.approx(sum(mul) / 5)


def test_nothing_is_seen_outside() -> None:
    x = flambeau.ones(3)
    x.exp()
    with profile() as prof:
        x.log()
    x.exp()
    assert names(prof) == {"aten::log": 1}


def test_calls_nest_and_times_add_up() -> None:
    x = flambeau.randn(16, 8)
    with profile() as prof, record_function("outer"):
        with record_function("inner"):
            flambeau.nn.functional.mse_loss(x, x * 2)
        time.sleep(0.01)
    outer, inner = (next(e for e in prof.events() if e.name == n) for n in ("outer", "inner"))
    assert inner.cpu_parent is outer and outer.cpu_parent is None
    loss = next(event for event in inner.cpu_children if event.name == "aten::mse_loss")
    assert loss.cpu_children  # what it is composed of
    assert outer.cpu_time_total >= 10_000
    for event in prof.events():
        inside = sum(child.cpu_time_total for child in event.cpu_children)
        assert event.self_cpu_time_total == pytest.approx(event.cpu_time_total - inside)
        assert event.self_cpu_time_total >= -1e-6
        for child in event.cpu_children:
            assert event.start <= child.start <= child.end <= event.end
    total = sum(event.self_cpu_time_total for event in prof.events())
    assert total == pytest.approx(outer.cpu_time_total)
    assert prof.key_averages().self_cpu_time_total == pytest.approx(total)
    assert prof.events().total_average().cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_backward_shows_its_nodes_and_their_operators() -> None:
    x = flambeau.randn(4, 3, requires_grad=True)
    y = (x.exp() * x).sum()
    with profile(record_shapes=True) as prof:
        y.backward()
    nodes = {event.name: event for event in prof.events() if event.kind == "backward"}
    leaf = "torch::autograd::AccumulateGrad"
    assert set(nodes) == {"SumBackward0", "MulBackward0", "ExpBackward0", leaf}
    assert nodes["MulBackward0"].input_shapes == ((4, 3),)
    assert nodes["SumBackward0"].input_shapes == ((),)
    assert {child.kind for child in nodes["SumBackward0"].cpu_children} <= {"call"}
    # Around each is what the engine does with its gradients.
    around = [event for event in prof.events() if event.kind == "engine"]
    assert [event.name for event in around] == [
        f"autograd::engine::evaluate_function: {event.cpu_children[0].name}" for event in around
    ]
    assert {event.cpu_children[0].name for event in around} == set(nodes)
    assert all(event.cpu_parent.kind == "engine" for event in nodes.values())


def test_shapes_are_kept_where_asked_for() -> None:
    a, b = flambeau.ones(2, 3), flambeau.ones(3, 5)

    def run() -> None:
        a @ b
        b.T @ a.T
        flambeau.cat([a, a])
        a + 1

    with profile() as without:
        run()
    assert all(event.input_shapes == () for event in without.events())
    with profile(record_shapes=True) as prof:
        run()
    shapes = {e.name: e.input_shapes for e in prof.events() if e.cpu_parent is None}
    assert shapes["aten::cat"] == ((2, 3), (2, 3))
    assert shapes["aten::add"] == ((2, 3),)
    products = [e for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::matmul"]
    assert [e.input_shapes for e in products] == [((2, 3), (3, 5)), ((5, 3), (3, 2))]
    assert "[[2, 3], [3, 5]]" in prof.key_averages(group_by_input_shape=True).table()


@pytest.mark.parametrize("count", [10, 1000, 3_000_000], ids=["small", "medium", "large"])
def test_memory_is_counted_to_the_byte(count: int) -> None:
    x = flambeau.ones(count, dtype=flambeau.float32)
    with profile(profile_memory=True) as prof:
        kept = x * 2
        (x + 1).sum()
    events = {event.name: event for event in prof.events() if event.cpu_parent is None}
    assert events["aten::mul"].allocated_bytes == 4 * count
    assert events["aten::add"].cpu_memory_usage == 4 * count
    assert events["aten::sum"].allocated_bytes == 4
    # Two results are gone, the third is held.
    assert sum(-c.bytes for c in prof.memory_events() if c.bytes < 0) == 4 * count + 4
    (held,) = prof.memory_snapshot()
    assert held.bytes == 4 * count and held.address == kept.data_ptr()
    assert held.during is not None and held.during.name == "aten::mul"


def test_memory_belongs_to_the_innermost_call() -> None:
    x = flambeau.ones(100, 100)
    with profile(profile_memory=True) as prof, record_function("block"):
        y = x * 2
        del y
    block, mul = (next(e for e in prof.events() if e.name == n) for n in ("block", "aten::mul"))
    assert (mul.self_allocated_bytes, mul.freed_bytes) == (40_000, 0)
    assert (block.self_allocated_bytes, block.allocated_bytes) == (0, 40_000)
    assert (block.self_freed_bytes, block.cpu_memory_usage) == (40_000, 0)


def test_stacks_name_the_line_of_the_caller(tmp_path: Path) -> None:
    def leaf_function() -> None:
        for _ in range(200):
            flambeau.ones(64, 64).exp()

    with profile(with_stack=True) as prof:
        leaf_function()
    event = next(event for event in prof.events() if event.name == "aten::exp")
    assert re.fullmatch(rf"{re.escape(__file__)}\(\d+\): leaf_function", event.stack[0])
    assert "test_stacks_name_the_line_of_the_caller" in event.stack[1]
    prof.export_stacks(tmp_path / "stacks.txt")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert lines
    for line in lines:
        frames, _, time_spent = line.rpartition(" ")
        assert int(time_spent) > 0 and len(frames.split(";")) > 3
    assert any(re.search(r"leaf_function;aten::exp \d+$", line) for line in lines)


def test_flame_graphs_are_as_wide_as_times(tmp_path: Path) -> None:
    def slow() -> None:
        for _ in range(30):
            flambeau.ones(300, 300).exp()

    with profile(with_stack=True) as prof:
        slow()
        flambeau.ones(2).neg()
    prof.export_stacks(tmp_path / "flame.svg")
    prof.export_stacks(tmp_path / "stacks.txt")
    times: dict[str, int] = {}
    for line in (tmp_path / "stacks.txt").read_text().splitlines():
        frames, _, time_spent = line.rpartition(" ")
        for frame in {*frames.split(";"), "all"}:
            times[frame] = times.get(frame, 0) + int(time_spent)
    space = "{http://www.w3.org/2000/svg}"
    boxes = ElementTree.parse(tmp_path / "flame.svg").getroot().findall(f"{space}g")
    widths: dict[str, float] = {}
    for box in boxes:
        title, shape = box.find(f"{space}title"), box.find(f"{space}rect")
        assert title is not None and title.text and shape is not None
        name = title.text.rpartition(": ")[0]
        widths[name] = widths.get(name, 0) + float(shape.attrib["width"])
    assert widths["all"] == 1200
    own = next(name for name in times if name.endswith(": slow"))
    for name in ("aten::exp", own):
        assert widths[name] / 1200 == pytest.approx(times[name] / times["all"], abs=0.02)
    assert widths["aten::exp"] < widths[own]


def test_threads_have_events_of_their_own() -> None:
    x = flambeau.ones(10)

    def work() -> None:
        with record_function("work"):
            for _ in range(20):
                x.exp()

    threads = [threading.Thread(target=work) for _ in range(3)]
    with profile() as prof:
        for thread in threads:
            thread.start()
        x.log()
        for thread in threads:
            thread.join()
    assert names(prof)["aten::exp"] == 60 and names(prof)["aten::log"] == 1
    ranges = [event for event in prof.events() if event.name == "work"]
    assert len({event.thread for event in ranges}) == 3
    for event in ranges:
        assert Counter(child.name for child in event.cpu_children) == {"aten::exp": 20}
        assert {child.thread for child in event.cpu_children} == {event.thread}


def test_profiles_begin_and_end_while_threads_work() -> None:
    x, is_over = flambeau.ones(2, 3), threading.Event()

    def work() -> None:
        while not is_over.is_set():
            with record_function("part"):
                x.exp()
            time.sleep(1e-5)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    profiles = []
    for _ in range(50):
        with profile(record_shapes=True, profile_memory=True) as prof:
            for _ in range(20):
                x.log()
            time.sleep(0.002)  # others may run
        profiles.append(prof)
    is_over.set()
    for thread in threads:
        thread.join()
    for prof in profiles:
        assert names(prof)["aten::log"] == 20
        assert names(prof).keys() <= {"aten::log", "aten::exp", "part"}
        for event in prof.events():
            assert event.start <= event.end
            assert event.name != "aten::exp" or event.input_shapes == ((2, 3),)
            for child in event.cpu_children:
                assert event.start <= child.start and child.thread == event.thread
    assert sum(names(prof)["aten::exp"] for prof in profiles) > 50


def test_long_recordings_are_whole() -> None:
    x = flambeau.ones(())
    with profile(record_shapes=True) as prof, record_function("all"):
        for _ in range(30_000):
            x.neg()
    (whole,) = (event for event in prof.events() if event.name == "all")
    assert names(prof) == {"all": 1, "aten::neg": 30_000} and len(whole.cpu_children) == 30_000
    starts = [event.start for event in whole.cpu_children]
    assert starts == sorted(starts)
    assert {event.input_shapes for event in whole.cpu_children} == {((),)}


def test_a_range_may_end_elsewhere() -> None:
    held: list[record_function] = []
    with profile() as prof:
        thread = threading.Thread(target=lambda: held.append(record_function("across").__enter__()))
        thread.start()
        thread.join()
        held[0].__exit__()
        held.append(record_function("after").__enter__())
    held[1].__exit__()  # when the profile is made, nothing happens
    assert names(prof) == {"across": 1, "after": 1}


@record_function("factorial")
def factorial(n: int) -> int:
    return 1 if n == 0 else n * factorial(n - 1)


def test_ranges_of_one_name_inside_each_other_count_once() -> None:
    with profile() as prof:
        assert factorial(4) == 24
    (average,) = prof.key_averages()
    assert average.count == 5
    assert average.cpu_time_total == prof.events()[0].cpu_time_total


def test_trace_is_valid(tmp_path: Path) -> None:
    x = flambeau.randn(5, 5, requires_grad=True)
    options = {"record_shapes": True, "profile_memory": True, "with_stack": True}
    with profile(**options) as prof, record_function('a "range"'):
        (x @ x).sum().backward()
    prof.add_metadata("model", "square")
    for path in (tmp_path / "trace.json", tmp_path / "trace.json.gz"):
        prof.export_chrome_trace(path)
    text = (tmp_path / "trace.json").read_text()
    assert gzip.decompress((tmp_path / "trace.json.gz").read_bytes()).decode() == text
    trace = json.loads(text)
    assert trace["model"] == "square"
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [e["name"] for e in complete] == [e.name for e in prof.events()]
    for event in complete:
        assert {"name", "pid", "tid", "ts", "dur", "cat", "args"} <= set(event)
        assert event["dur"] >= 0
    product = next(event for event in complete if event["name"] == "aten::matmul")
    assert product["args"]["Input Dims"] == [[5, 5], [5, 5]]
    counters = [event for event in trace["traceEvents"] if event["ph"] == "C"]
    assert counters[-1]["args"]["bytes"] == sum(c.bytes for c in prof.memory_events())
    stamps = [event["ts"] for event in counters]
    assert stamps == sorted(stamps)


def test_schedules() -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    letters = {
        ProfilerAction.NONE: "-",
        ProfilerAction.WARMUP: "w",
        ProfilerAction.RECORD: "r",
        ProfilerAction.RECORD_AND_SAVE: "S",
    }
    assert "".join(letters[plan(step)] for step in range(11)) == "--wrS-wrS--"
    skipping = schedule(wait=2, warmup=0, active=1, skip_first_wait=1)
    assert "".join(letters[skipping(step)] for step in range(6)) == "S--S--"
    with pytest.raises(ValueError, match="argument 'active' is 0"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(ValueError, match="argument 'wait' is -1"):
        schedule(wait=-1, warmup=1, active=1)


@pytest.mark.parametrize("keeps", [False, True])
def test_steps_follow_the_schedule(keeps: bool) -> None:
    x = flambeau.ones(3)
    ready: list[Counter[str]] = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda prof: ready.append(names(prof)),
        acc_events=keeps,
    ) as prof:
        for step in range(10):
            for _ in range(step):
                x.exp()
            prof.step()
    first = {"aten::exp": 2 + 3, "ProfilerStep#2": 1, "ProfilerStep#3": 1}
    second = {"aten::exp": 6 + 7, "ProfilerStep#6": 1, "ProfilerStep#7": 1}
    assert ready[0] == first
    assert ready[1] == (Counter(first) + Counter(second) if keeps else second)
    assert len(ready) == 2


def test_steps_without_a_schedule_are_one_profile() -> None:
    x, ready = flambeau.ones(3), []
    with profile(on_trace_ready=lambda prof: ready.append(names(prof))) as prof:
        for _ in range(3):
            x.exp()
            prof.step()
    assert ready == [{"aten::exp": 3}]


def test_tensorboard_handler_writes_a_file_per_cycle(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(str(tmp_path / "logs"), worker_name="here")
    with profile(schedule=schedule(wait=0, warmup=0, active=1), on_trace_ready=handler) as prof:
        for _ in range(3):
            flambeau.ones(2)
            prof.step()
    files = sorted((tmp_path / "logs").iterdir())
    # The fourth cycle was cut short by the end of the block.
    assert len(files) == 4
    assert all(re.fullmatch(r"here\.\d+\.pt\.trace\.json", file.name) for file in files)
    assert "traceEvents" in json.loads(files[0].read_text())


def test_table_sorts_and_cuts() -> None:
    x = flambeau.randn(200, 200)
    with profile(profile_memory=True) as prof:
        for _ in range(3):
            x.exp()
        x @ x
    averages = prof.key_averages()
    by_count = averages.table(sort_by="count", row_limit=1)
    rows = by_count.splitlines()
    assert rows[3].startswith("aten::exp ") and rows[3].split()[-1] == "3"
    assert rows[-1].startswith("Self CPU time total: ") and len(rows) == 6
    assert "468.75 KB" in rows[3]  # three times 200 x 200 x 4 bytes
    assert averages.table(header="steps", time_unit="ms").startswith("steps\n")
    assert averages.table(sort_by="cuda_time_total") == averages.table(sort_by="cpu_time_total")
    with pytest.raises(ValueError, match="'sort_by' is 'speed'"):
        averages.table(sort_by="speed")
    with pytest.raises(ValueError, match="'time_unit' is 'min', expected one of ns, us, ms, s"):
        averages.table(time_unit="min")
    only = prof.events().table(top_level_events_only=True)
    assert len(only.splitlines()) == 5 + sum(e.cpu_parent is None for e in prof.events())


def test_operations_are_counted_where_asked_for() -> None:
    layer, x = flambeau.nn.Linear(8, 4), flambeau.randn(2, 8)
    images, filters = flambeau.ones(1, 3, 8, 8), flambeau.ones(4, 3, 3, 3)

    def run() -> None:
        layer.zero_grad()
        for _ in range(3):
            layer(x).sum().backward()
        flambeau.conv2d(images, filters)
        flambeau.bmm(flambeau.ones(2, 3, 4), flambeau.ones(2, 4, 5))
        x.exp()

    with profile() as without:
        run()
    assert not any(event.flops for event in without.events())
    assert "FLOPs" not in without.key_averages().table()
    with profile(with_flops=True, record_shapes=True, profile_memory=True) as prof:
        run()
    counted = {average.key: average.flops for average in prof.key_averages() if average.flops}
    # A multiplication and an addition for each pair of elements that are multiplied.
    assert counted == {
        "aten::linear": 3 * 2 * (2 * 8 * 4),
        "aten::mm": 3 * 2 * (4 * 2 * 8),
        "aten::conv2d": 2 * (4 * 6 * 6) * (3 * 3 * 3),
        "aten::bmm": 2 * 2 * 3 * 4 * 5,
    }
    assert [event.flops for event in prof.events() if event.name == "aten::linear"] == [128] * 3
    # Nothing else than without, and nothing twice.
    assert names(prof) == names(without)
    for event in prof.events():
        assert event.self_cpu_time_total >= -1e-6
    (product,) = (e for e in prof.events() if e.name == "aten::bmm")
    assert product.input_shapes == ((2, 3, 4), (2, 4, 5)) and product.allocated_bytes == 4 * 30
    table = prof.key_averages().table(sort_by="flops", row_limit=1)
    assert table.splitlines()[1].endswith("  Total KFLOPs")
    assert table.splitlines()[3].startswith("aten::conv2d") and table.splitlines()[3].endswith(
        " 7.776"
    )
    assert prof.key_averages().total_average().flops == sum(counted.values())


def test_operations_are_counted_in_steps() -> None:
    x, counts = flambeau.ones(4, 4), []
    with profile(
        with_flops=True,
        schedule=schedule(wait=1, warmup=1, active=2),
        on_trace_ready=lambda p: counts.append(sum(event.flops for event in p.events())),
    ) as prof:
        for step in range(4):
            for _ in range(step):
                x.mm(x)
            prof.step()
    assert counts[0] == (2 + 3) * 2 * 4**3
    with profile() as after:
        x.mm(x)
    assert not any(event.flops for event in after.events())
    with pytest.raises(RuntimeError, match="do not multiply"), profile(with_flops=True) as failing:
        x.mm(flambeau.ones(3, 3))
    assert {event.flops for event in failing.events() if event.name == "aten::mm"} <= {0}


def test_one_profile_at_a_time() -> None:
    with profile() as prof, pytest.raises(RuntimeError, match="a profile is being made already"):
        profile().start()
    assert len(prof.events()) == 0
    with pytest.raises(ValueError, match="in the block"), profile():
        raise ValueError("in the block")
    with profile():
        pass


def test_what_is_not_counted_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="with_modules=True"):
        profile(with_modules=True)
    with pytest.warns(UserWarning, match="CUDA has no clock here"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with profile() as prof:
        flambeau.ones(2)
    with pytest.raises(RuntimeError, match="pass with_stack=True"):
        prof.export_stacks("unused")
    with pytest.raises(TypeError, match="'name' must be str, not int"):
        record_function(3).__enter__()  # type: ignore[arg-type]


def test_the_former_form() -> None:
    with flambeau.autograd.profiler.profile(record_shapes=True) as prof:
        flambeau.ones(2, 3).exp()
    assert "exp" in prof.table() and "exp" in str(prof.key_averages())
    assert prof.self_cpu_time_total == prof.function_events.self_cpu_time_total
    with flambeau.autograd.profiler.profile(enabled=False) as off:
        flambeau.ones(2).exp()
    assert len(off.function_events) == 0
