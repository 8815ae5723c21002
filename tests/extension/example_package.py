"""The example package, as the tests have it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "python" / "examples" / "operators_package"


@dataclass(frozen=True)
class Installed:
    """The example package, built from scratch as a wheel and installed into a folder of its own."""

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
