"""What the library is called in texts: "torch" in a program that imports it by that name."""

from __future__ import annotations

import sys


def shown_name() -> str:
    """ "torch" once `flambeau.run_as_torch.install()` was called, else "flambeau"."""
    return "torch" if sys.modules.get("torch") is sys.modules["flambeau"] else "flambeau"


def shown(module: str) -> str:
    """The name of one of our modules as the program says it."""
    return shown_name() + module.removeprefix("flambeau")
