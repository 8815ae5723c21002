"""Times workloads in one framework and prints {name: seconds per call} as JSON."""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from workloads import GROUPS

SAMPLE_SECONDS = 0.05
SAMPLES = 7
LONG_SECONDS = 0.5  # of a call that one sample measures well


def seconds_per_call(
    call: Callable[[], Any], sample_seconds: float = SAMPLE_SECONDS, samples: int = SAMPLES
) -> float:
    """Median over samples, each of enough calls to be measured well, after two: the first one asks
    the system for memory.
    """
    seconds_of(call, 1)
    once = seconds_of(call, 1)
    if once >= LONG_SECONDS:
        return once
    count = 1
    while True:
        elapsed = seconds_of(call, count)
        if elapsed >= sample_seconds / 2 or count >= 1 << 20:
            break
        count *= 2
    return statistics.median(seconds_of(call, count) / count for _ in range(samples))


def seconds_of(call: Callable[[], Any], count: int) -> float:
    """Of so many calls."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def main() -> None:
    framework, threads, group, *names = sys.argv[1:]
    module = importlib.import_module(framework)
    if framework != "numpy":
        module.set_num_threads(int(threads))
        module.manual_seed(0)
    result = {}
    for workload in GROUPS[group]:
        make = workload.numpy if framework == "numpy" else workload.make
        if make is not None and workload.name in names:
            result[workload.name] = seconds_per_call(make(module))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
