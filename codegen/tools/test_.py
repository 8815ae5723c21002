"""Run the tests that follow from the declarations of an importable package of operators, or those
that a backend has to pass.

Results, gradients, dtypes, layouts, errors and documentation of every operator are tested, as those
of the library's own. With --backend, the library's operators are called on a device of that backend
and on the CPU, and results and gradients compared; what the backend says that it lacks may be
lacking. Copies, random numbers, saving and printing are tested too. The backend is that of an
installed package, or of one on PYTHONPATH. Further options are pytest's. Needs pytest and SciPy.

  test my_operators -k softclip
  test --backend opencl -x
"""

from __future__ import annotations

import argparse
import sys

NAME = "test"
HELP = "run the generated tests of a package of operators, or of a backend"


def configure(parser: argparse.ArgumentParser) -> None:
    tested = parser.add_mutually_exclusive_group(required=True)
    tested.add_argument("package", nargs="?", metavar="PACKAGE", help="the name Python imports")
    tested.add_argument(
        "--backend",
        nargs=argparse.REMAINDER,
        metavar="NAME",
        help="as devices are named; comes last",
    )
    parser.add_argument("options", nargs=argparse.REMAINDER, help="passed on to pytest")


def run(options: argparse.Namespace) -> int:
    from flambeau.extension.testing import run_backend_tests, run_tests

    if options.backend is None:
        return run_tests(options.package, options.options)
    if not options.backend:
        print("flambeau ops test: --backend needs a name, as devices have it", file=sys.stderr)
        return 2
    return run_backend_tests(options.backend[0], options.backend[1:])
