"""What a profile costs the program that it looks at: `python tests/benchmarks/profiling.py`.

The training step of a small network runs without a profile and with one, in turns.
"""

from __future__ import annotations

import argparse
import time

from workloads.basics import WORKLOADS

import flambeau
from flambeau.profiler import profile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    (workload,) = (w for w in WORKLOADS if w.name == "MLP step")
    step = workload.make(flambeau)

    def took() -> float:
        start = time.perf_counter()
        for _ in range(options.steps):
            step()
        return (time.perf_counter() - start) / options.steps * 1e6

    kinds = {"calls": {}, "calls and memory": {"profile_memory": True}}
    took()
    alone: list[float] = []
    watched: dict[str, list[float]] = {kind: [] for kind in kinds}
    events = 0.0
    for _ in range(options.rounds):
        alone.append(took())
        for kind, given in kinds.items():
            with profile(**given) as prof:
                watched[kind].append(took())
            events = len(prof.events()) / options.steps
    print(f"without a profile: {min(alone):.1f} us, {events:.0f} calls")
    for kind, times in watched.items():
        print(f"{kind}: {min(times):.1f} us, {100 * (min(times) / min(alone) - 1):.0f} % more")


if __name__ == "__main__":
    main()
