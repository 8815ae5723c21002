"""Flambeau against PyTorch and NumPy: `python tests/benchmarks --torch /path/to/python-with-torch`.

The frameworks take turns, a process each, for several rounds; the table shows medians over the
rounds and the median of the ratios round by round, so that a machine whose speed drifts does not
favour one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from workloads import WORKLOADS

WORKER = Path(__file__).with_name("worker.py")
Times = dict[str, float]


def measure(python: str, framework: str, threads: int, names: list[str]) -> Times:
    """One process; empty where the framework is not there."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
    }
    command = [python, str(WORKER), framework, str(threads), *names]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        print(f"{framework}: {process.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    times: Times = json.loads(process.stdout)
    return times


def table(rounds: list[dict[str, Times]], names: list[str]) -> str:
    """A Markdown table of medians and ratios."""
    targets = {w.name: w.target for w in WORKLOADS}
    lines = [
        "| workload | Flambeau | PyTorch | NumPy | ratio | target | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for name in names:
        own, torch, numpy = (_median(rounds, f, name) for f in ("flambeau", "torch", "numpy"))
        pairs = [
            r["flambeau"][name] / r["torch"][name]
            for r in rounds
            if name in r["flambeau"] and name in r["torch"]
        ]
        ratio = statistics.median(pairs) if pairs else None
        verdict = "" if ratio is None else "ok" if ratio <= targets[name] else "**missed**"
        shown = "" if ratio is None else f"{ratio:.2f}"
        lines.append(
            f"| {name} | {_text(own)} | {_text(torch)} | {_text(numpy)} "
            f"| {shown} | {targets[name]:.2f} | {verdict} |"
        )
    return "\n".join(lines)


def _median(rounds: list[dict[str, Times]], framework: str, name: str) -> float | None:
    values = [r[framework][name] for r in rounds if name in r[framework]]
    return statistics.median(values) if values else None


def _text(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that can import torch")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="workloads whose name holds TEXT"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    names = [w.name for w in WORKLOADS if options.only in w.name]
    pythons = {"flambeau": sys.executable, "torch": options.torch, "numpy": sys.executable}
    rounds = []
    for index in range(options.rounds):
        print(f"round {index + 1} of {options.rounds}", file=sys.stderr)
        rounds.append(
            {
                framework: measure(python, framework, options.threads, names) if python else {}
                for framework, python in pythons.items()
            }
        )
    print(table(rounds, names))


if __name__ == "__main__":
    main()
