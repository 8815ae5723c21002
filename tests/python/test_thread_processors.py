"""Where threads run: helpers are kept off their caller's processor while they are woken."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# In a process of its own: others' threads have processors of their own choice.
PROGRAM = """
import os, time
import flambeau

def threads():
    return {int(task) for task in os.listdir("/proc/self/task")}

flambeau.set_num_threads(2)
before = threads()
x = flambeau.randn(1 << 20).neg()
(helper,) = threads() - before
end = time.monotonic() + 60  # it may be on its way from its caller's processor
while os.sched_getaffinity(helper) != PROCESS and time.monotonic() < end:
    time.sleep(0.001)
wanted = ALLOWED or PROCESS
os.sched_setaffinity(helper, wanted)
for _ in range(5):
    time.sleep(0.02)  # the helper falls asleep
    x.neg()
    end = time.monotonic() + 60  # it may do so before it is awake itself
    while os.sched_getaffinity(helper) != wanted and time.monotonic() < end:
        time.sleep(0.001)
    assert os.sched_getaffinity(helper) == wanted, os.sched_getaffinity(helper)
assert os.sched_getaffinity(0) == PROCESS
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
@pytest.mark.parametrize("is_pinned", [False, True])
def test_helpers_may_run_where_they_might_before(is_pinned: bool) -> None:
    process = os.sched_getaffinity(0)
    allowed = {min(process)} if is_pinned else None
    program = PROGRAM.replace("ALLOWED", repr(allowed)).replace("PROCESS", repr(process))
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


# Rounds in which the helper is put onto its caller's processor while it is awake.
AWAKE = """
import os, time
import flambeau

def threads():
    return {int(task) for task in os.listdir("/proc/self/task")}

def processor(task):
    with open(f"/proc/self/task/{task}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[36])

flambeau.set_num_threads(2)
before = threads()
x = flambeau.randn(1 << 20).neg()
(helper,) = threads() - before
everywhere = os.sched_getaffinity(0)
here = min(everywhere)
os.sched_setaffinity(0, {here})
for _ in range(5):
    os.sched_setaffinity(helper, {here})
    x.neg()
    os.sched_setaffinity(helper, everywhere)
    end = time.monotonic() + 60
    while processor(helper) == here or os.sched_getaffinity(helper) != everywhere:
        assert time.monotonic() < end, (processor(helper), os.sched_getaffinity(helper))
        x.neg()
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_a_helper_does_not_stay_with_its_caller() -> None:
    subprocess.run([sys.executable, "-c", AWAKE], check=True, timeout=300)
