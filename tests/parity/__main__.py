"""Compares Flambeau with an installed PyTorch on random valid calls.

    python tests/parity --torch PYTHON --calls 100000

PYTHON: an interpreter of the same version that has PyTorch, PyYAML and Jinja2. Calls of declared
operators, index expressions, programs of views and in-place writes: values, dtypes, shapes and
gradients to the second order. Differences are explained in wanted.yaml, or listed, each once and
reduced; then the exit status is 1. `python tests/parity databases` runs the inputs of PyTorch's own
tests instead.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    if sys.argv[1:2] == ["databases"]:
        sys.path.insert(0, str(HERE / "databases"))
        from db_main import main as databases

        return databases()
    parser = argparse.ArgumentParser(prog="python tests/parity", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--torch", help="an interpreter that has PyTorch (default: this one)")
    parser.add_argument("--calls", type=int, default=10_000, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--ops", default="", help="a pattern of names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path, help="a JSON file; the text goes beside it")
    parser.add_argument("--exceptions", action="store_true",
                        help="list other types of exceptions too")  # fmt: skip
    parser.add_argument("--show", help="run one case, given as text, in both libraries")
    options = parser.parse_args()
    if options.torch:
        arguments = [a for i, a in enumerate(sys.argv[1:])
                     if a != "--torch" and sys.argv[i] != "--torch"]  # fmt: skip
        os.execv(options.torch, [options.torch, str(HERE), *arguments])
    sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz")]
    from parity_run import report, show

    return show(options.show) if options.show else report(options)


if __name__ == "__main__":
    sys.exit(main())
