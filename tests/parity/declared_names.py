"""What scripts share that compare declared names with PyTorch's."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import Any


def with_torch(description: str | None, script: str) -> Any:
    """PyTorch, of this interpreter; where another one is named, that runs the script."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--torch", help="an interpreter that has PyTorch (default: this one)")
    options = parser.parse_args()
    if options.torch:
        os.execv(options.torch, [options.torch, script])
    import torch

    return torch


def tell(what: str, verdicts: Iterable[str | None]) -> int:
    """Prints those that differ and counts all; the exit status. A verdict: "", alike; None, in
    Flambeau alone; else how they differ."""
    counts = {"alike": 0, "differently": 0, "in Flambeau alone": 0}
    for verdict in verdicts:
        if verdict is None:
            counts["in Flambeau alone"] += 1
        elif verdict == "":
            counts["alike"] += 1
        else:
            counts["differently"] += 1
            print(verdict)
    print(f"{what} " + ", ".join(f"{name}: {n}" for name, n in counts.items()))
    return 1 if counts["differently"] else 0
