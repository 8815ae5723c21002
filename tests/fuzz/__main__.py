"""Calls everything that Python reaches with good and bad arguments, and watches what becomes of it.

    python tests/fuzz --calls 300000 --report fuzz.json

A crash, a report of a sanitizer, a hang, memory that grows, an exception that says nothing: each is
a finding, reduced to one line. The exit status is 1 where there is one. Needs the library on
PYTHONPATH; `python -m build_tools.sanitize address,undefined --fuzz CALLS` runs it instrumented.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import fuzz_planted
from fuzz_calls import Program, chosen, prepare, program
from fuzz_judge import ADVICE
from fuzz_report import lines, readable, write
from fuzz_supervisor import Tally, fuzzing, run
from fuzz_worker import SANITIZED

BATCH = 1000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--calls", type=int, default=20_000, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--only", default="", metavar="NUMBERS", help="these calls: '7,12'")
    parser.add_argument("--ops", default="", help="a pattern of names: 'softmax', 'Tensor\\.add'")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path, help="a JSON file; the text goes beside it")
    parser.add_argument("--public", action="store_true", help="without what only formulas call")
    parser.add_argument("--no-reduce", action="store_true", help="show programs as they were tried")
    parser.add_argument(
        "--no-growth",
        action="store_true",
        help="do not look for growing memory (never done under sanitizers)",
    )
    parser.add_argument("--advice", action="store_true", help="list also what is not wrong as such")
    parser.add_argument(
        "--planted",
        action="store_true",
        help="take checks away (--ops: of files whose path matches): are they missed?",
    )
    options = parser.parse_args()
    if options.planted:
        return fuzz_planted.main(options.seed, options.first, options.calls, options.ops)

    def make(number: int) -> Program:
        return program(options.seed, number, options.ops, not options.public)

    numbers: Sequence[int] = range(options.first, options.first + options.calls)
    if options.only:
        numbers = [int(number) for number in options.only.split(",")]
    if len(numbers) > BATCH:
        prepare()
    chosen(options.ops, not options.public)
    started = time.monotonic()
    until = started + options.seconds if options.seconds else float("inf")
    shown = [started]

    def stop() -> bool:
        return time.monotonic() > until

    def progress(tally: Tally) -> None:
        now = time.monotonic()
        if now > shown[0] + 15:
            shown[0] = now
            kinds = ", ".join(f"{kind} {count}" for kind, count in tally.kinds.most_common())
            rate = tally.calls / (now - started)
            print(f"{tally.calls} calls, {rate:.0f} a second: {kinds}", file=sys.stderr, flush=True)

    batch = min(BATCH, max(len(numbers) // options.jobs // 2, 20))
    task = fuzzing(make, growth=not (options.no_growth or SANITIZED))
    tally = run(task, numbers, options.jobs, batch, stop, progress)
    seconds = time.monotonic() - started
    found = lines(tally, make, options.jobs, not options.no_reduce, options.advice)
    about = {
        "calls": tally.calls, "seed": options.seed, "first": options.first, "ops": options.ops,
        "worked": tally.worked, "seconds": round(seconds), "sanitized": SANITIZED,
    }  # fmt: skip
    print(readable(found, about), end="")
    if options.report:
        write(options.report, found, about)
    return 1 if any(line.kind not in ADVICE for line in found) else 0


if __name__ == "__main__":
    sys.exit(main())
