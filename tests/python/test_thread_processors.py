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
allowed = ALLOWED
if allowed:
    os.sched_setaffinity(helper, allowed)
wanted = os.sched_getaffinity(helper)
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
