"""Run the tests that follow from the declarations of an importable package of operators.

Results, gradients, dtypes, layouts, errors and documentation of every operator are tested, as those
of the library's own. Options after the name are pytest's. Needs pytest and SciPy.
"""

from __future__ import annotations

import argparse

NAME = "test"
HELP = "run the generated tests of a package of operators"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", metavar="PACKAGE", help="the name that Python imports")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="passed on to pytest")


def run(options: argparse.Namespace) -> int:
    from flambeau.extension.testing import run_tests

    return run_tests(options.package, options.options)
