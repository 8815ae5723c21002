"""The packages of python/examples, built and installed as a user would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from flambeau._build.lock import exclusive

EXAMPLES = Path(__file__).resolve().parents[1] / "python" / "examples"


@dataclass(frozen=True)
class Installed:
    """An example, built from scratch as a wheel and installed into a folder of its own."""

    source: Path
    wheel: Path
    folder: Path

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Python with the package on its path."""
        paths = [str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


def install_example(name: str, shared: Path) -> Installed:
    """The example of this name. Of the processes that share a folder the first builds it."""
    source, wheels, folder = (shared / name / part for part in ("source", "wheels", "installed"))
    with exclusive(shared / name):
        if not folder.exists():
            shutil.copytree(EXAMPLES / name, source, ignore=shutil.ignore_patterns("build"))
            _pip("wheel", "--no-build-isolation", "--no-deps", "-w", str(wheels), str(source))
            (wheel,) = wheels.glob("*.whl")
            _pip("install", "--no-deps", "--no-index", "--target", str(folder), str(wheel))
    (wheel,) = wheels.glob("*.whl")
    return Installed(source, wheel, folder)


def _pip(*arguments: str) -> None:
    """Runs pip, which must not look anything up."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
