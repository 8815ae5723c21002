"""Compares what the programs of this folder print with what they print on PyTorch.

    python tests/programs/compare.py --torch PYTHON

PYTHON is an interpreter with PyTorch and NumPy. Parameters are set by formula, data come from NumPy
and so does noise (same_draws.py), so that the numbers must agree, but for rounding.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from test_programs import PROGRAMS

SAME_DRAWS = str(Path(__file__).with_name("same_draws.py"))
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def numbers(command: list[str], path: Path, environment: dict[str, str]) -> list[float]:
    """What a program prints, as numbers."""
    done = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return [float(text) for text in NUMBER.findall(done.stdout)]


def difference(ours: list[float], theirs: list[float]) -> float:
    """The largest, relative to the larger of a number and 0.1."""
    if len(ours) != len(theirs):
        return float("inf")
    pairs = zip(ours, theirs, strict=True)
    return max((abs(a - b) / max(abs(b), 0.1) for a, b in pairs), default=0.0)


def main() -> int:
    """Prints a line per program; 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", required=True, help="a Python with PyTorch")
    parser.add_argument("--tolerance", type=float, default=0.02)
    options = parser.parse_args()
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    failed = False
    for path in PROGRAMS:
        try:
            theirs = numbers([options.torch, "-W", "ignore", SAME_DRAWS], path, plain)
            command = [sys.executable, "-m", "flambeau.run_as_torch", SAME_DRAWS]
            ours = numbers(command, path, dict(os.environ))
        except RuntimeError as error:
            print(f"{path.stem:24} failed: {error}")
            failed = True
            continue
        largest = difference(ours, theirs)
        wrong = largest > options.tolerance
        failed = failed or wrong
        verdict = f"{len(ours)} numbers, {largest:.1e}"
        print(f"{path.stem:24} {verdict}{'  DIFFERENT' * wrong}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
