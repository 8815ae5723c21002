"""What it costs to build the library from nothing, without ccache, with any number of operators.

`python tests/benchmarks/cold_build.py --operators 0 2000` builds copies of this tree: as it is, and
with synthetic operators up to 2,000.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from generator import ROOT, add_operators, report, timed

TARGET = 360.0  # seconds, on two cores: of as many operators as there are


def copy_tree(target: Path) -> None:
    """What git knows of this tree, as it is now."""
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, files.stdout.split("\0")):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", type=int, nargs="*", default=[0])
    options = parser.parse_args()
    for count in options.operators:
        with tempfile.TemporaryDirectory() as temporary:
            tree = Path(temporary)
            copy_tree(tree)
            add_operators(tree / "declarations", tree / "native", count)
            took = timed("-m", "build_tools.build", cwd=tree, PYTHONPATH="", CCACHE_DISABLE="1")
            report(f"build, {count or 'all'} operators", took, None if count else TARGET)


if __name__ == "__main__":
    main()
