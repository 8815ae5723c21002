"""Saving and loading 200 MB of tensors: time against PyTorch, and peak memory.

`python tests/benchmarks/files.py --torch PYTHON [--folder FOLDER]`

The libraries take turns, a process each; ratios are medians over the rounds. Both leave the file in
the system's cache; Flambeau's `save` also waits until it is on the disk. Peaks are what a process
takes above `import`, as a multiple of the data.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TENSORS, ELEMENTS = 50, 1 << 20
TARGETS = {"save": 0.8, "load": 0.6, "mmap load": 0.002}
MOST_MEMORY = 1.1

TIMES = """
import json, sys, time
import FRAMEWORK as torch
torch.set_num_threads(2)
path = sys.argv[1]
state = {f"layer{i}.weight": torch.randn(ELEMENTS) for i in range(TENSORS)}
def seconds(call):
    times = []
    for _ in range(7):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
        del result
    return sorted(times)[3]
print(json.dumps({
    "save": seconds(lambda: torch.save(state, path)),
    "load": seconds(lambda: torch.load(path)),
    "mmap load": seconds(lambda: torch.load(path, mmap=True)),
}))
"""
PEAK = """
import resource, sys
import FRAMEWORK as torch
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
torch.save(torch.ones(1), sys.argv[1] + "x"), torch.load(sys.argv[1] + "x")
if sys.argv[2] == "load":
    before = peak()
    result = torch.load(sys.argv[1])
else:
    before = peak()
    state = {f"layer{i}.weight": torch.ones(ELEMENTS) for i in range(TENSORS)}
    torch.save(state, sys.argv[1])
print((peak() - before) / (4 * ELEMENTS * TENSORS))
"""


def run(python: str, framework: str, code: str, *arguments: str) -> str:
    """What a program prints."""
    code = code.replace("FRAMEWORK", framework)
    code = code.replace("ELEMENTS", str(ELEMENTS)).replace("TENSORS", str(TENSORS))
    command = [python, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{framework}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", metavar="PYTHON", required=True)
    parser.add_argument("--folder", help="where the files are (default: the system's)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pythons = {"flambeau": sys.executable, "torch": options.torch}
    missed = 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        paths = {framework: str(Path(name) / f"{framework}.pt") for framework in pythons}
        rounds = [
            {f: json.loads(run(python, f, TIMES, paths[f])) for f, python in pythons.items()}
            for _ in range(options.rounds)
        ]
        for what, target in TARGETS.items():
            own, other = ([r[f][what] for r in rounds] for f in ("flambeau", "torch"))
            ratio = statistics.median(a / b for a, b in zip(own, other, strict=True))
            reached = statistics.median(own) if what == "mmap load" else ratio
            missed += reached > target
            print(
                f"{what}: {statistics.median(own) * 1e3:.1f} ms, PyTorch "
                f"{statistics.median(other) * 1e3:.1f} ms, ratio {ratio:.2f}, "
                f"target {target} {'s ' if what == 'mmap load' else ''}"
                f"{'**missed**' if reached > target else 'ok'}"
            )
        for way in ("load", "save"):
            peaks = {f: float(run(p, f, PEAK, paths[f], way)) for f, p in pythons.items()}
            missed += peaks["flambeau"] > MOST_MEMORY
            print(
                f"peak memory of {way}: {peaks['flambeau']:.2f} of the data, PyTorch "
                f"{peaks['torch']:.2f}, target {MOST_MEMORY}"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
