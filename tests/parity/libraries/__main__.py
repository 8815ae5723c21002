"""Runs programs of other people's libraries on Flambeau, and compares what they print.

    python tests/parity/libraries [--torch PYTHON] [--only NAME] [--keep FOLDER] [--page FILE]

For each library there is a program, run_NAME.py. An environment is made in which pip installs that
library, with what it requires, and no PyTorch; the program runs in it, and the environment is
deleted again (--keep leaves them in a folder, and finds them there). --torch is an interpreter of
the same version that has PyTorch, and finds the library in the environment. Models are small and
their weights follow a formula. Printed are, for each library, its version and how many numbers
agree, or what stopped it; --page writes that into the table of the guide, too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "programs"))

from compare import difference, numbers  # noqa: E402
from environment import distributions, make  # noqa: E402
from rows import Row, write_row  # noqa: E402


def folder_of_packages(python: str) -> str:
    """Where an interpreter has its libraries."""
    text = "import sysconfig; print(sysconfig.get_path('purelib'))"
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def run(path: Path, python: str, torch: str | None) -> Row:
    """Runs a program in its environment, and on PyTorch."""
    library = path.stem.removeprefix("run_").replace("_", "-")
    there = distributions(python)
    row = Row(library, there[library], len(there))
    try:
        command = [python, "-W", "ignore", "-m", "flambeau.run_as_torch"]
        ours = numbers(command, path, dict(os.environ))
    except RuntimeError as error:
        row.stopped = str(error)
        return row
    row.numbers = len(ours)
    if torch is not None:
        packages = dict(os.environ) | {"PYTHONPATH": folder_of_packages(python)}
        row.difference = difference(ours, numbers([torch, "-W", "ignore"], path, packages))
    return row


@contextmanager
def environment(library: str, kept: Path | None) -> Iterator[str]:
    """The Python of a library's environment, which is made if it is not there."""
    if kept is None:
        with tempfile.TemporaryDirectory(prefix=f"{library}-") as folder:
            yield make(library, Path(folder) / "environment")
        return
    python = kept / library / "bin" / "python"
    yield str(python) if python.exists() else make(library, kept / library)


def main() -> int:
    """Prints a line per library; 1 if one was stopped or differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", help="a Python with PyTorch")
    parser.add_argument("--only", action="append", help="a library to run")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keeps environments there")
    parser.add_argument("--page", type=Path, help="writes the rows into a page of the guide")
    options = parser.parse_args()
    if options.page and not options.torch:
        parser.error("--page needs --torch, which the rows are compared with")
    rows = []
    for path in sorted(HERE.glob("run_*.py")):
        library = path.stem.removeprefix("run_")
        if options.only and library not in options.only:
            continue
        with environment(library, options.keep) as python:
            rows.append(run(path, python, options.torch))
        print(rows[-1], flush=True)
        if options.page:
            write_row(options.page, path, rows[-1])
    return int(not all(row.well for row in rows))


if __name__ == "__main__":
    sys.exit(main())
