"""Runs programs of other people's libraries on Flambeau, and compares what they print.

    python tests/parity/libraries --make FOLDER
    python tests/parity/libraries --python FOLDER/bin/python [--torch PYTHON] [--only NAME]

The first makes an environment that has the libraries, of which there is a file run_NAME.py each,
and what they and Flambeau need, and no PyTorch. --torch is an interpreter of the same version that
has PyTorch, and finds the libraries where the first one has them. Models are small and their
weights follow a formula. Printed are, for each library, its version and how many numbers agree, or
what stopped it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "programs"))

from compare import difference, numbers  # noqa: E402

TOLERANCE = 0.01


def version(python: str, library: str) -> str:
    """Of an installed library."""
    text = f"import importlib.metadata as m; print(m.version({library!r}))"
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "missing"


def folder_of_packages(python: str) -> str:
    """Where an interpreter has its libraries."""
    text = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python, "-c", text], capture_output=True, text=True).stdout.strip()


def verdict(path: Path, python: str, torch: str | None) -> tuple[str, bool]:
    """What to print of a program, and whether it ran and agrees."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        command = [python, "-W", "ignore", "-m", "flambeau.run_as_torch"]
        ours = numbers(command, path, dict(os.environ))
    except RuntimeError as error:
        return f"stopped: {error}", False
    if torch is None:
        return f"ran, {len(ours)} numbers", True
    there = plain | {"PYTHONPATH": folder_of_packages(python)}
    theirs = numbers([torch, "-W", "ignore"], path, there)
    largest = difference(ours, theirs)
    return f"{len(ours)} numbers, {largest:.1e}", largest <= TOLERANCE


def make(folder: Path) -> None:
    """An environment with the libraries, and without PyTorch.

    Raises:
        FileExistsError: there is something in the folder.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"--make: {folder} is not empty")
    venv.create(folder, with_pip=True)
    project = tomllib.loads((HERE.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    listed = ["-r", str(HERE / "requirements.txt")]
    subprocess.run([*pip, *project["project"]["dependencies"], *listed], check=True)
    alone = ["--no-deps", "-r", str(HERE / "requirements_alone.txt")]
    subprocess.run([*pip, *alone], check=True)


def main() -> int:
    """Prints a line per library; 1 if one was stopped or differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--make", type=Path, metavar="FOLDER", help="makes an environment there")
    either.add_argument("--python", help="a Python with the libraries")
    parser.add_argument("--torch", help="a Python with PyTorch")
    parser.add_argument("--only", help="the library to run")
    options = parser.parse_args()
    if options.make is not None:
        make(options.make)
        return 0
    failed = False
    for path in sorted(HERE.glob("run_*.py")):
        library = path.stem.removeprefix("run_")
        if options.only not in (None, library):
            continue
        text, well = verdict(path, options.python, options.torch)
        print(f"{library:14} {version(options.python, library):10} {text}", flush=True)
        failed = failed or not well
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
