"""Flambeau against PyTorch and NumPy: `python tests/benchmarks --torch /path/to/python-with-torch`.

The frameworks take turns, a process each, for several rounds; the table shows medians over the
rounds and the medians of the ratios round by round, so that a machine whose speed drifts does not
favour one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import page
from workloads import GROUPS
from workloads.workload import Workload

WORKER = Path(__file__).with_name("worker.py")
README = Path(__file__).parents[2] / "README.md"
Times = dict[str, float]


def measure(python: str, framework: str, threads: int, group: str, names: list[str]) -> Times:
    """One process; empty where the framework is not there."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
    }
    command = [python, str(WORKER), framework, str(threads), group, *names]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        print(f"{framework}: {process.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    times: Times = json.loads(process.stdout)
    return times


def table(rounds: list[dict[str, Times]], workloads: list[Workload]) -> str:
    """A Markdown table of medians and ratios; below it the geometric means of the ratios."""
    lines = [
        "| workload | Flambeau | PyTorch | NumPy | to PyTorch | target | to NumPy | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    found: dict[str, list[float]] = {"torch": [], "numpy": []}
    for workload in workloads:
        name, target = workload.name, workload.target
        own, torch, numpy = (_median(rounds, f, name) for f in ("flambeau", "torch", "numpy"))
        ratios = {other: _ratio(rounds, other, name) for other in found}
        for other, ratio in ratios.items():
            found[other] += [] if ratio is None else [ratio]
        to_torch, to_numpy = (_shown(ratios[other]) for other in found)
        lines.append(
            f"| {name} | {_text(own)} | {_text(torch)} | {_text(numpy)} "
            f"| {to_torch} | {target:.2f} | {to_numpy} | {_verdict(ratios, target)} |"
        )
    means = [
        f"to {name} {statistics.geometric_mean(found[other]):.2f}"
        for other, name in (("torch", "PyTorch"), ("numpy", "NumPy"))
        if found[other]
    ]
    if means:
        lines.append(f"\nGeometric means of the ratios: {', '.join(means)}.")
    return "\n".join(lines)


def _ratio(rounds: list[dict[str, Times]], other: str, name: str) -> float | None:
    """The median of the ratios round by round, where both ran."""
    pairs = [
        r["flambeau"][name] / r[other][name]
        for r in rounds
        if name in r["flambeau"] and name in r[other]
    ]
    return statistics.median(pairs) if pairs else None


def _shown(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _verdict(ratios: dict[str, float | None], target: float) -> str:
    """The target is of PyTorch's time; NumPy, where it has the computation, may not be faster."""
    limits = {"torch": target, "numpy": 1.0}
    known = [(ratio, limits[other]) for other, ratio in ratios.items() if ratio is not None]
    if not known:
        return ""
    return "ok" if all(ratio <= limit for ratio, limit in known) else "**missed**"


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


def _processor() -> str:
    """The name of this machine's processor, its family and model."""
    facts: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = facts["flags"].split()
    beyond = [w for w in ("avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16") if w in flags]
    known = beyond or [w for w in ("avx2",) if w in flags]
    name = re.sub(r"\((R|TM)\)| Processor\b| CPU\b", "", facts["model name"])
    return (
        f"{os.cpu_count()} cores of {name} (family {facts['cpu family']}, "
        f"model {facts['model']}; {', '.join(known)})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that can import torch")
    parser.add_argument("--group", choices=[*GROUPS, "all"], default="basics", help="what is timed")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="workloads whose name holds TEXT"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--pages",
        type=Path,
        metavar="FOLDER",
        help="put whole groups into this processor's page there, and the means into the README",
    )
    options = parser.parse_args()
    if options.pages and (options.only or not options.torch):
        parser.error("--pages takes whole groups, compared with PyTorch: no --only, and --torch")
    about = f"{options.threads} threads, {options.rounds} interleaved rounds."
    print(f"{_processor()}, {about}")
    for group in GROUPS if options.group == "all" else [options.group]:
        workloads = [w for w in GROUPS[group] if options.only in w.name]
        if workloads:
            found = _measured(group, workloads, options)
            print(f"\n## {group}\n\n{found}", flush=True)
            if options.pages:
                page.write(options.pages, _processor(), about, {group: found})
                page.write_summary(README, page.read(options.pages))


def _measured(group: str, workloads: list[Workload], options: argparse.Namespace) -> str:
    names = [w.name for w in workloads]
    pythons = {"flambeau": sys.executable, "torch": options.torch, "numpy": sys.executable}
    rounds = []
    for index in range(options.rounds):
        print(f"{group}: round {index + 1} of {options.rounds}", file=sys.stderr)
        rounds.append(
            {
                framework: measure(python, framework, options.threads, group, names)
                if python
                else {}
                for framework, python in pythons.items()
            }
        )
        if options.pages and not (rounds[-1]["flambeau"] and rounds[-1]["torch"]):
            raise SystemExit("nothing is put into a page: a framework did not run")
    return table(rounds, workloads)


if __name__ == "__main__":
    main()
