"""What a profile costs the program that it looks at: `python tests/benchmarks/profiling.py`.

The training step of a small network runs without a profile and with one, in turns. With `--off` a
C++ program, which is built, also says what calls pay for being seen while nobody looks: it times a
function with and without what operators have for that.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time

from workloads.basics import WORKLOADS

import flambeau
from flambeau.profiler import profile

_NUMBER = re.compile(r"-?[\d.]+")
KINDS: dict[str, dict[str, bool]] = {
    "calls": {},
    "calls and memory": {"profile_memory": True},
    "calls and shapes": {"record_shapes": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--off", action="store_true", help="also what it costs without a profile")
    options = parser.parse_args()
    (workload,) = (w for w in WORKLOADS if w.name == "MLP step")
    step = workload.make(flambeau)

    def took() -> float:
        start = time.perf_counter()
        for _ in range(options.steps):
            step()
        return (time.perf_counter() - start) / options.steps * 1e6

    took()
    alone: list[float] = []
    ratios: dict[str, list[float]] = {kind: [] for kind in KINDS}
    calls = 0.0
    for _ in range(options.rounds):
        for kind, given in KINDS.items():
            alone.append(took())
            with profile(**given) as prof:
                watched = took()
            ratios[kind].append(watched / alone[-1])
            calls = len(prof.events()) / options.steps
    step_time = statistics.median(alone)
    print(f"without a profile: {step_time:.1f} us, {calls:.0f} calls")
    for kind, found in ratios.items():
        more = statistics.median(found) - 1
        each = 1e3 * more * step_time / calls
        print(f"{kind}: {100 * more:.1f} % more, {each:.0f} ns a call")
    if options.off:
        each = unseen_cost()
        share = each * calls / step_time / 1e3
        print(f"while there is no profile: {each:.2f} ns a call, {100 * share:.2f} % of the step")


def unseen_cost() -> float:
    """Nanoseconds a call."""
    command = [sys.executable, "-m", "build_tools.native_tests", "bench_profiled"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(next(line for line in done.stdout.splitlines() if _NUMBER.fullmatch(line)))


if __name__ == "__main__":
    main()
